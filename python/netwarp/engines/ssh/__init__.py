"""The engine `ssh`: each node of a lab is a separate machine, over SSH, in real time."""
