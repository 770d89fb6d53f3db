/** A valid PDF with one line of text per string. A page without text contains a rectangle, like the image of a scan. */
export function createPdf(pages: readonly (readonly string[])[]): Buffer {
  return buildPdf(
    pages.map((lines) => {
      const shown = lines.map((line) => `(${line}) Tj 0 -14 Td`).join(" ");
      return lines.length === 0 ? "10 10 100 100 re f" : `BT /F1 12 Tf 72 700 Td ${shown} ET`;
    }),
  );
}

/** A PDF with one page whose content stream is compressed with Deflate. */
export function createDeflatedPdf(packed: Buffer): Buffer {
  return buildPdf([packed.toString("latin1")], "/Filter /FlateDecode");
}

function buildPdf(drawings: readonly string[], filter = ""): Buffer {
  const kids = drawings.map((_drawing, index) => `${4 + index * 2} 0 R`).join(" ");
  const objects = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    `<< /Type /Pages /Kids [${kids}] /Count ${drawings.length} >>`,
    "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ...drawings.flatMap((drawing, index) => [
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents ${5 + index * 2} 0 R /Resources << /Font << /F1 3 0 R >> >> >>`,
      `<< /Length ${drawing.length} ${filter} >>\nstream\n${drawing}\nendstream`,
    ]),
  ];
  let file = "%PDF-1.4\n";
  const offsets = objects.map((object, index) => {
    const offset = String(file.length).padStart(10, "0");
    file += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return `${offset} 00000 n \n`;
  });
  const size = objects.length + 1;
  const table = `xref\n0 ${size}\n0000000000 65535 f \n${offsets.join("")}`;
  const trailer = `trailer\n<< /Size ${size} /Root 1 0 R >>\nstartxref\n${file.length}\n%%EOF`;
  return Buffer.from(file + table + trailer, "latin1");
}
