"""The HTTP doors: each turns a request into a call of the pipelines and its result into JSON, and decides nothing.

app joins the doors · doorway every request passes first · bodies reads JSON · problems is the one shape of every error
· sse writes streams · chat, search, books, llms, openai, mcp, ingestion, webhook, health, pages are the doors · orders
says what may be ingested, jobs runs it when turns says so, child is its process · schemas and openai_schemas document
what the doors answer, and openapi puts it together · server runs it all, workers several times.
"""
