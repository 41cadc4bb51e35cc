# Completion of netwarp for bash: candidates come from `netwarp __complete`.
_netwarp() {
    # bash breaks words at `=` and `:`; netwarp's words do not end there.
    local words='' word='' i start
    for ((i = 1; i <= COMP_CWORD; i++)); do
        start=${COMP_WORDS[i]}
        if [[ $i -gt 1 && ( $start == [=:]* || ${COMP_WORDS[i - 1]} == *[=:] ) ]]; then
            word+=$start
        else
            [[ $i -gt 1 ]] && words+=${word//[\"\'\\]/}$'\x1f'
            word=$start
        fi
    done
    # What readline replaces is $2; what is before it in the word stays. The line holds quotes and backslashes as typed.
    local typed=${word//[\"\'\\]/} kept=${word%"$2"} quoted=''
    kept=${kept//[\"\'\\]/}
    [[ $word == *[\"\']* ]] && quoted=1
    words+=$typed$'\x1f'

    local program=${COMP_WORDS[0]/#\~/$HOME}
    type -P "$program" >/dev/null || program=netwarp

    COMPREPLY=()
    local line files='' begun='' prefix='' value
    while IFS= read -r line; do
        case $line in
            $'\x1f'begin) begun=1 ;;
            $'\x1f'files) files=1 ;;
            $'\x1f'prefix*) prefix=${line#*$'\t'} ;;
            $'\x1f'* | '') ;;
            *)
                [[ $begun ]] || continue
                value=$prefix${line%%$'\t'*}
                value=${value#"$kept"}
                [[ $quoted ]] || printf -v value %q "$value"
                COMPREPLY+=("$value")
                ;;
        esac
    done < <(CYCLOPTS_COMPLETION_WORDS=$words "$program" __complete 2>/dev/null)

    if [[ $files || ${#COMPREPLY[@]} -eq 0 ]]; then
        local path
        while IFS= read -r path; do
            [[ -d $path ]] && path+=/
            [[ $quoted ]] || printf -v path %q "$path"
            [[ " ${COMPREPLY[*]} " == *" $path "* ]] || COMPREPLY+=("$path")
        done < <(compgen -f -- "${typed#"$kept"}")
    fi
    # A path of a setting, and a directory, go on.
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[/=.,] ]] && compopt -o nospace 2>/dev/null
    return 0
}
complete -F _netwarp netwarp
