import { parentPort, workerData } from "node:worker_threads";
import { getDocumentProxy } from "unpdf";

/* Reads a PDF in a worker thread, which can be terminated if a malicious file takes forever. */

export interface PdfJob {
  bytes: Uint8Array;
  maxPages: number;
  maxCharacters: number;
}

export type PdfWorkerResult =
  /** `pagesRead` is the number of pages that the text covers. */
  | { type: "text"; text: string; pages: number; pagesRead: number }
  | { type: "broken"; reason: string };

const pageBreak = "\n\n";

parentPort?.postMessage(await handleJob(workerData as PdfJob), []);

async function handleJob(job: PdfJob): Promise<PdfWorkerResult> {
  try {
    return await extractText(job);
  } catch (error) {
    switch ((error as Error).name) {
      case "PasswordException":
        return { type: "broken", reason: "it needs a password" };
      case "InvalidPDFException":
        return { type: "broken", reason: "it is not a valid PDF" };
      default:
        throw error;
    }
  }
}

async function extractText({ bytes, maxPages, maxCharacters }: PdfJob): Promise<PdfWorkerResult> {
  // Without this, pdf.js prints a line for every font problem.
  const pdf = await getDocumentProxy(bytes, { verbosity: 0 });
  const texts: string[] = [];
  let length = 0;
  let pagesRead = 0;
  while (pagesRead < Math.min(pdf.numPages, maxPages) && length <= maxCharacters) {
    pagesRead += 1;
    const page = await pdf.getPage(pagesRead);
    const { items } = await page.getTextContent();
    const fragments = items.map((item) =>
      "str" in item ? item.str + (item.hasEOL ? "\n" : "") : "",
    );
    const text = fragments.join("").trim();
    page.cleanup();
    if (text === "") continue;
    texts.push(text);
    length += text.length + pageBreak.length;
  }
  return { type: "text", text: texts.join(pageBreak), pages: pdf.numPages, pagesRead };
}
