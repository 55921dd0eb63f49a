"""A report in a browser: its parts unfolded, its charts alive."""


def unfold(page):
    page.evaluate("document.querySelectorAll('.part > details').forEach((part) => { part.open = true; })")


def show(figure):
    """Scroll to a figure. Playwright's own way waits until it has stopped moving, which it may not do while charts above it come alive."""
    figure.evaluate("one => one.scrollIntoView()")


def bring_alive(page):
    """The figures of a page, unfolded and alive."""
    unfold(page)
    figures = page.locator("figure.chart").all()
    for figure in figures:
        show(figure)
        figure.locator(".stage.is-live svg").wait_for()
    return figures
