import type { ChatExportFormat } from "@deltawire/tasks/chats";
import type { Page } from "../state/page.ts";
import type { ListWords } from "./words.ts";

interface ExportEntry {
  readonly format: ChatExportFormat;
  readonly label: string;
}

/** All that a chat can be saved as, as menus have it. */
export function exportEntries(words: ListWords): ExportEntry[] {
  return [
    { format: "markdown", label: words.exportAs("Markdown") },
    { format: "html", label: words.exportAs("HTML") },
    { format: "json", label: words.exportAs("JSON") },
    { format: "openai", label: words.exportAs("OpenAI JSON") },
    { format: "glued", label: words.exportGlued },
  ];
}

/** Saves a chat as a file of the browser's. Answers with its name; what fails a toast tells. */
export async function exportChat(
  page: Page,
  chatId: string,
  format: ChatExportFormat,
): Promise<string | undefined> {
  const file = await page.attempt(() => page.client.exportAs(chatId, format));
  if (file === undefined) return undefined;
  const url = URL.createObjectURL(new Blob([file.text], { type: file.media_type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = file.filename;
  link.click();
  // The browser has not begun to read it when the click returns.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
  return file.filename;
}
