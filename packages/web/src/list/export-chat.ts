import type { ChatExportFormat } from "@deltawire/tasks/chats";
import type { AppStore } from "../state/app-store.ts";
import type { ChatListMessages } from "./messages.ts";

interface ExportOption {
  readonly format: ChatExportFormat;
  readonly label: string;
}

/** The formats of the export menu. */
export function listExportOptions(t: ChatListMessages): ExportOption[] {
  return [
    { format: "markdown", label: t.exportAs("Markdown") },
    { format: "html", label: t.exportAs("HTML") },
    { format: "json", label: t.exportAs("JSON") },
    { format: "openai", label: t.exportAs("OpenAI JSON") },
    { format: "glued", label: t.exportGlued },
  ];
}

/** Downloads a chat as a file. Resolves to the file name. If it fails, shows a toast and resolves to undefined. */
export async function exportChat(
  app: AppStore,
  chatId: string,
  format: ChatExportFormat,
): Promise<string | undefined> {
  const file = await app.attempt(() => app.client.exportAs(chatId, format));
  if (file === undefined) return undefined;
  const url = URL.createObjectURL(new Blob([file.text], { type: file.media_type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = file.filename;
  link.click();
  // Not revoked immediately, because the browser reads the blob after this function has returned.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
  return file.filename;
}
