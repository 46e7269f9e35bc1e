# Completion of hgemm-tune for fish. The program says what may stand at the cursor, so that this
# knows its commands and options, and the shapes and spaces that there are.
function __hgemm_tune_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    for line in ($words[1] complete -- $words[2..-1] $word 2>/dev/null)
        switch $line
            case '@files'
                __fish_complete_path $word
            case '@folders'
                __fish_complete_directories $word
            case '*'
                echo $line
        end
    end
end
complete -c hgemm-tune -f -k -a '(__hgemm_tune_complete)'
