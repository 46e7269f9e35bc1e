# Completion of hgemm-tune for bash. The program says what may stand at the cursor, so that this
# knows its commands and options, and the shapes and spaces that there are.
_hgemm_tune() {
  local program=${1/#\~/$HOME} word=${COMP_WORDS[COMP_CWORD]} line
  [[ $word != '=' ]] || word=
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      @files) compopt -o filenames 2>/dev/null; mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$word") ;;
      @folders) compopt -o filenames 2>/dev/null; mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "$word") ;;
      *) COMPREPLY+=("${line%%$'\t'*}") ;;
    esac
  done < <("$program" complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _hgemm_tune hgemm-tune
