"""Services for all stages: text for people, the terminal, threads, temporary directories, the agent's programs."""
