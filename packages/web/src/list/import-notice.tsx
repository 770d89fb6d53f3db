import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { useWords } from "../words/use-words.ts";
import type { ImportFiles } from "./import-file.ts";
import { listWords } from "./words.ts";

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
