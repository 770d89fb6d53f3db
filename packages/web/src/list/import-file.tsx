import { useState } from "react";
import { usePage } from "../hooks/use-page.ts";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import type { Page } from "../state/page.ts";
import { useWords } from "../words/use-words.ts";
import { listWords, type ListWords } from "./words.ts";

type Importing =
  | { readonly is: "idle" }
  | { readonly is: "under way"; readonly name: string }
  | { readonly is: "failed"; readonly name: string; readonly message: string };

export interface ImportFiles {
  readonly state: Importing;
  /** One after the other, up to the first that is refused; goes to the first chat of the last file. */
  take(files: readonly File[]): Promise<void>;
  readonly dismiss: () => void;
}

export function useImport(onChosen: (() => void) | undefined): ImportFiles {
  const page = usePage();
  const words = useWords(listWords);
  const [state, setState] = useState<Importing>({ is: "idle" });
  return {
    state,
    dismiss: () => setState({ is: "idle" }),
    async take(files) {
      for (const file of files) {
        const { name } = file;
        setState({ is: "under way", name });
        try {
          await importOne(page, file, words);
        } catch (error) {
          const message = error instanceof Error ? error.message : String(error);
          return setState({ is: "failed", name, message });
        }
      }
      setState({ is: "idle" });
      onChosen?.();
    },
  };
}

async function importOne(page: Page, file: File, words: ListWords): Promise<void> {
  const { data } = await page.importFrom(jsonOf(await file.text(), words));
  page.toasts.show({ kind: "info", text: words.imported(data.length) });
  const [first] = data;
  if (first !== undefined) page.router.go({ is: "chat", chatId: first.chat_id });
}

function jsonOf(text: string, words: ListWords): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Error(words.noJson, { cause });
  }
}

/** How far an import is, and why one was refused, in full: the gateway names the places of the faults. */
export function ImportNotice({ importing }: { importing: ImportFiles }) {
  const words = useWords(listWords);
  const { state, dismiss } = importing;
  if (state.is === "idle") return null;
  if (state.is === "under way")
    return (
      <p className="list-notice" role="status">
        <span className="spinner" aria-hidden="true" />
        <span dir="auto">{words.importing(state.name)}</span>
      </p>
    );
  return (
    <Dialog
      title={words.importFailed(state.name)}
      onClose={dismiss}
      footer={
        <Button kind="primary" onClick={dismiss}>
          {words.close}
        </Button>
      }
    >
      <p>{words.importFailedText}</p>
      <pre className="list-faults" role="alert">
        {state.message.replaceAll("; ", ";\n")}
      </pre>
    </Dialog>
  );
}
