"""The engine `ssh`: each node of a lab is a machine of its own, over SSH, in real time."""
