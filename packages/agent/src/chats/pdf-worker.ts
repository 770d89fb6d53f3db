import { parentPort, workerData } from "node:worker_threads";
import { getDocumentProxy } from "unpdf";

/* Reads a PDF on a thread of its own, which can be ended in the middle of a file that was made to be endless. */

export interface PdfOrder {
  bytes: Uint8Array;
  maxPages: number;
  maxCharacters: number;
}

export type PdfMessage =
  /** `read`: how many of its pages the text is of. */
  { is: "text"; text: string; pages: number; read: number } | { is: "broken"; why: string };

const pageBreak = "\n\n";

parentPort?.postMessage(await messageOf(workerData as PdfOrder), []);

async function messageOf(order: PdfOrder): Promise<PdfMessage> {
  try {
    return await textOf(order);
  } catch (error) {
    switch ((error as Error).name) {
      case "PasswordException":
        return { is: "broken", why: "it needs a password" };
      case "InvalidPDFException":
        return { is: "broken", why: "it is no PDF, or broken" };
      default:
        throw error;
    }
  }
}

async function textOf({ bytes, maxPages, maxCharacters }: PdfOrder): Promise<PdfMessage> {
  // Without verbosity every oddity of a font is a line on standard output.
  const pdf = await getDocumentProxy(bytes, { verbosity: 0 });
  const texts: string[] = [];
  let length = 0;
  let read = 0;
  while (read < Math.min(pdf.numPages, maxPages) && length <= maxCharacters) {
    read += 1;
    const page = await pdf.getPage(read);
    const { items } = await page.getTextContent();
    const pieces = items.map((item) => ("str" in item ? item.str + (item.hasEOL ? "\n" : "") : ""));
    const text = pieces.join("").trim();
    page.cleanup();
    if (text === "") continue;
    texts.push(text);
    length += text.length + pageBreak.length;
  }
  return { is: "text", text: texts.join(pageBreak), pages: pdf.numPages, read };
}
