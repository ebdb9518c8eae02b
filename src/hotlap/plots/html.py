"""HTML that cannot be broken by what an author wrote: text is escaped unless it was built here."""

from html import escape
from xml.etree import ElementTree

from hotlap.text import clean

_SVG = "{http://www.w3.org/2000/svg}"
_LINK = "{http://www.w3.org/1999/xlink}href"
_EMPTY = {"meta"}


class Html(str):
    """Markup that was built here; any other string is text."""

    __slots__ = ()


def element(tag: str, *children: str | None, **attributes: str | None) -> Html:
    """An element. Children that are no Html are cleaned and escaped; attributes always are. None is left out.

    `class_` is the attribute class, `data_label` is data-label.
    """
    said = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(clean(value), quote=True)}"'
        for name, value in attributes.items()
        if value is not None
    )
    if tag in _EMPTY:
        return Html(f"<{tag}{said}>")
    return Html(f"<{tag}{said}>{joined(*children)}</{tag}>")


def joined(*children: str | None) -> Html:
    """Children one after another."""
    return Html("".join(_child(child) for child in children if child is not None))


def _child(child: str) -> str:
    return child if isinstance(child, Html) else escape(clean(child), quote=False)


def inline_svg(source: bytes, name: str, label: str, colours: dict[str, str]) -> Html:
    """A picture of matplotlib's to stand in a page: ids are its own, colours are the page's.

    source: its SVG. name: a prefix for its ids. label: for who cannot see it. colours: what stands in a style
    (#1c2128) to what shall stand there (var(--ink)). Its size is left to the page.
    """
    root = ElementTree.fromstring(source)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{_SVG}style", f"{_SVG}metadata") or not child.tag.startswith(_SVG):
                parent.remove(child)
    for node in root.iter():
        node.tag = node.tag.removeprefix(_SVG)
        node.attrib = dict(_attribute(key, value, name, colours) for key, value in node.attrib.items())
    root.attrib = {"viewBox": root.attrib["viewBox"], "role": "img", "aria-label": clean(label)}
    return Html(ElementTree.tostring(root, encoding="unicode"))


def _attribute(key: str, value: str, name: str, colours: dict[str, str]) -> tuple[str, str]:
    if key == "id":
        return key, f"{name}-{value}"
    if key in (_LINK, "href"):
        return "href", value.replace("#", f"#{name}-", 1)
    value = value.replace("url(#", f"url(#{name}-")
    if key == "style":
        for colour, variable in colours.items():
            value = value.replace(colour, variable)
    return key, value
