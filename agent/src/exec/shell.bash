# What a shell in a lab begins with: its prompt is the node and the virtual time, in seconds.
_netwarp_prompt() {
    local status=$? us=$((${EPOCHREALTIME/[.,]/} - NETWARP_START_US))
    printf -v NETWARP_TIME '%d.%03d' $((us / 1000000)) $((us / 1000 % 1000))
    return $status
}
PROMPT_COMMAND=_netwarp_prompt
PS1='${NETWARP_NODE} ${NETWARP_TIME}s$ '
unset HISTFILE
bind 'set enable-bracketed-paste off' 2>/dev/null
