import type { ChatExportFormat } from "@deltawire/tasks/chats";
import type { Page } from "../state/page.ts";

/** By their names for people, which are the same in every language. */
export const exportFormats: readonly { format: ChatExportFormat; name: string }[] = [
  { format: "markdown", name: "Markdown" },
  { format: "html", name: "HTML" },
  { format: "json", name: "JSON" },
  { format: "openai", name: "OpenAI JSON" },
  { format: "glued", name: "Glued JSON" },
];

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
