"""The HTTP doors: each turns a request into a pipeline call and the result into JSON, and decides nothing.

Every request passes doorway → access (with callers, limits, tokens) → bodies and then reaches one door: chat, sessions,
search, books, openai, mcp, ingestion, webhook, health, metrics or static. app joins them; server runs the application,
workers runs several. The doors that ask share asking and sse. problems is the one shape of every error; disclosure says
what an error may reveal. jobs runs ingestion, each job in a job_process. views, search_views and library_views hold the
shapes of responses and make them; book_text, openai_protocol and mcp_tools do so for their doors. openapi documents it
all.
"""
