"""How a person gets through the example pages by keyboard."""


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def heading(page):
    return page.locator("h1").inner_text()


def begin(page):
    """Consent, sample and quiz of the study, by keyboard."""
    assert heading(page) == "Before you begin"
    press(page, "Tab", "Space", "Enter")
    assert heading(page) == "The sample"
    press(page, "Enter")
    assert heading(page) == "A question"
    press(page, "1", "Enter")
    assert "1 of 1 right" in page.locator(".verdict").inner_text()
    press(page, "Enter")


def rate(page, voice="4", sure="80"):
    press(page, voice, "3", "1", *sure, "Enter")


def download(page, folder):
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download answers").press("Enter")
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path
