# Completion of netwarp for fish: candidates come from `netwarp __complete`.
function __netwarp_candidates
    set -l tokens (commandline -opc)
    set -l program $tokens[1]
    type -q -- $program; or set program netwarp
    set -l asked (string join -- \x1f $tokens[2..-1] (commandline -ct | string unescape --style=script; or commandline -ct))\x1f
    set -l begun; set -l files; set -l prefix ''
    set -l found 0
    for line in (CYCLOPTS_COMPLETION_WORDS=$asked $program __complete 2>/dev/null)
        switch $line
            case \x1fbegin
                set begun 1
            case \x1ffiles
                set files 1
            case \x1fprefix\*
                set prefix (string split -m 1 \t -- $line)[2]
            case \x1f\* ''
            case '*'
                if test -n "$begun"
                    set found 1
                    echo -- $prefix$line
                end
        end
    end
    if test -n "$files" -o $found -eq 0
        __fish_complete_path (commandline -ct)
    end
end
complete -c netwarp -f -a '(__netwarp_candidates)'
