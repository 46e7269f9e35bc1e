#compdef hgemm-tune
# Completion of hgemm-tune for zsh. The program says what may stand at the cursor, so that this
# knows its commands and options, and the shapes and spaces that there are.
_hgemm_tune() {
  local line
  local -a found
  for line in "${(@f)$(${(Q)~words[1]} complete -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
    case $line in
      '') ;;
      @files) _files ;;
      @folders) _files -/ ;;
      *$'\t'*) found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
      *) found+=("${line//:/\\:}") ;;
    esac
  done
  (( ${#found} )) && _describe -V 'hgemm-tune' found
}
if [[ ${funcstack[1]} == _hgemm-tune ]]; then  # loaded as a file of fpath
  _hgemm_tune "$@"
else
  compdef _hgemm_tune hgemm-tune
fi
