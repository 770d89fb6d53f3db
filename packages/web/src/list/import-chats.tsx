import { useState } from "react";
import { useAppStore } from "../hooks/use-app-store.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import type { AppStore } from "../state/app-store.ts";
import { useMessages } from "../messages/use-messages.ts";
import { gatewayErrorMessages } from "../text/gateway-error-translations.ts";
import { chatListMessages, type ChatListMessages } from "./messages.ts";

type ImportState =
  | { readonly status: "idle" }
  | { readonly status: "importing"; readonly name: string }
  | { readonly status: "failed"; readonly name: string; readonly message: string };

export interface ChatImport {
  readonly state: ImportState;
  /** Imports files in order until one fails. Opens the first chat of each file. */
  importFiles(files: readonly File[]): Promise<void>;
  readonly dismiss: () => void;
}

export function useChatImport(onSelect: (() => void) | undefined): ChatImport {
  const app = useAppStore();
  const t = useMessages(chatListMessages);
  const [state, setState] = useState<ImportState>({ status: "idle" });
  return {
    state,
    dismiss: () => setState({ status: "idle" }),
    async importFiles(files) {
      for (const file of files) {
        const { name } = file;
        setState({ status: "importing", name });
        try {
          await importFile(app, file, t);
        } catch (error) {
          const message = error instanceof Error ? error.message : String(error);
          return setState({ status: "failed", name, message });
        }
      }
      setState({ status: "idle" });
      onSelect?.();
    },
  };
}

async function importFile(app: AppStore, file: File, t: ChatListMessages): Promise<void> {
  const { data } = await app.importChats(parseJson(await file.text(), t));
  app.toasts.show({ kind: "info", text: t.imported(data.length) });
  const [firstChat] = data;
  if (firstChat !== undefined) app.router.navigate({ type: "chat", chatId: firstChat.chat_id });
}

function parseJson(text: string, t: ChatListMessages): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Error(t.invalidJson, { cause });
  }
}

/** Shows a running import, or the error of a failed one. The gateway's error lists everything that is invalid in the file. */
export function ImportNotice({ chatImport }: { chatImport: ChatImport }) {
  const t = useMessages(chatListMessages);
  const { formatError } = useMessages(gatewayErrorMessages);
  const { state, dismiss } = chatImport;
  if (state.status === "idle") return null;
  if (state.status === "importing")
    return (
      <p className="list-notice" role="status">
        <span className="spinner" aria-hidden="true" />
        <span dir="auto">{t.importing(state.name)}</span>
      </p>
    );
  return (
    <Dialog
      title={t.importFailed(state.name)}
      onClose={dismiss}
      footer={
        <Button kind="primary" onClick={dismiss}>
          {t.close}
        </Button>
      }
    >
      <p>{t.importFailedText}</p>
      <pre className="list-import-errors" role="alert">
        {formatError(state.message).replaceAll("; ", ";\n")}
      </pre>
    </Dialog>
  );
}
