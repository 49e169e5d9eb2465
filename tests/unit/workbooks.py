"""Workbooks of Excel and LibreOffice, made for tests."""

import zipfile
from xml.sax.saxutils import escape


def write_workbook(path, rows, *, sheet="Table", others=(), at=(1, 1), merged=()):
    """Write rows of cells as .xlsx, from a place on; other sheets are empty."""
    import openpyxl

    book = openpyxl.Workbook()
    page = book.active
    page.title = sheet
    for i, row in enumerate(rows):
        for j, cell in enumerate(row):
            if cell is not None:
                page.cell(at[0] + i, at[1] + j, cell)
    for one in merged:
        page.merge_cells(one)
    for name in others:
        book.create_sheet(name)
    book.save(path)
    return path


_CONTENT = (
    '<?xml version="1.0" encoding="UTF-8"?><office:document-content '
    'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" '
    'xmlns:calcext="urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0" '
    'office:version="1.2"><office:body><office:spreadsheet><table:table table:name="Table">{}'
    "</table:table></office:spreadsheet></office:body></office:document-content>"
)
FAILED = "#DIV/0!"
"""A cell whose formula failed."""


def write_open_document(path, rows):
    """Write rows of texts, numbers and failed formulas as .ods, as LibreOffice does."""
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    lines = "".join(
        f"<table:table-row>{''.join(map(_open_cell, row))}</table:table-row>" for row in rows
    )
    manifest = (
        '<?xml version="1.0"?><manifest:manifest '
        'xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
        f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{kind}"/>'
        "</manifest:manifest>"
    )
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("mimetype", kind)
        packed.writestr("content.xml", _CONTENT.format(lines))
        packed.writestr("META-INF/manifest.xml", manifest)
    return path


def _open_cell(value):
    if value == FAILED:
        said = 'table:formula="of:=1/0" office:value-type="string" office:string-value="" '
        said += 'calcext:value-type="error"'
    elif isinstance(value, str):
        said = 'office:value-type="string"'
    else:
        said = f'office:value-type="float" office:value="{value}"'
    return f"<table:table-cell {said}><text:p>{escape(str(value))}</text:p></table:table-cell>"
