"""The untrusted side: loads what an author wrote and runs it when told.

Nothing that leaves this process is believed. It imports the standard library and whatever the author
imports, and nothing else of hotlap, because the sandbox shows it this folder alone.
"""
