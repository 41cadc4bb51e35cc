#compdef netwarp
# Completion of netwarp for zsh: candidates come from `netwarp __complete`.
_netwarp() {
    local word line asked='' files='' begun='' prefix=''
    local -a going going_shown ending ending_shown
    for word in "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}"; do asked+=$word$'\x1f'; done
    local program=${words[1]/#\~/$HOME}
    whence -p "$program" >/dev/null || program=netwarp

    while IFS= read -r line; do
        case $line in
            ($'\x1f'begin) begun=1 ;;
            ($'\x1f'files) files=1 ;;
            ($'\x1f'prefix*) prefix=${line#*$'\t'} ;;
            ($'\x1f'*|'') ;;
            (*)
                [[ -n $begun ]] || continue
                word=$prefix${line%%$'\t'*}
                local shown=$word
                [[ $line == *$'\t'* ]] && shown="$word  -- ${line#*$'\t'}"
                # A path of a setting, and a directory, go on: no blank after them.
                if [[ $word == *[/=.,] ]]; then going+=("$word") going_shown+=("$shown")
                else ending+=("$word") ending_shown+=("$shown"); fi
                ;;
        esac
    done < <(CYCLOPTS_COMPLETION_WORDS=$asked "$program" __complete 2>/dev/null)

    local found=1
    (( $#ending )) && compadd -l -d ending_shown -a ending && found=0
    (( $#going )) && compadd -l -S '' -d going_shown -a going && found=0
    if [[ -n $files ]] || (( found )); then _files && found=0; fi
    return found
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _netwarp "$@"; else compdef _netwarp netwarp; fi
