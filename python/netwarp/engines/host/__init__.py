"""The engine `host`: namespaces of this machine, in real time."""
