"""Reads the document of a page that foretell wrote."""

import json
import re

DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>',
                  re.DOTALL)
LOADS = re.compile(r"<(?:link|img|iframe|script[^>]*\ssrc)\b")


def document_of(page):
    """The JSON document; the page must load nothing from elsewhere."""
    assert not LOADS.search(page), LOADS.search(page)
    return json.loads(DATA.search(page)[1])
