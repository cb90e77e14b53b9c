"""One report from results: sections of content, written as HTML or as Markdown."""
