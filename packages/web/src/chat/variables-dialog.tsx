import { useEffect, useState } from "react";
import type { ChatVariable } from "@deltawire/tasks/chats";
import { LongText } from "../blocks/long-text.tsx";
import { useAppStore } from "../hooks/use-app-store.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { useFormatter } from "../messages/format.ts";
import { useMessages } from "../messages/use-messages.ts";
import { chatViewMessages } from "./messages.ts";

type LoadState =
  | { readonly status: "loading" }
  | { readonly status: "failed"; readonly message: string }
  | { readonly status: "ready"; readonly variables: readonly ChatVariable[] };

/** Lists the variables of a chat: long arguments and results of tool calls. */
export function VariablesDialog({ chatId, onClose }: { chatId: string; onClose: () => void }) {
  const t = useMessages(chatViewMessages);
  const [attempt, setAttempt] = useState(1);
  return (
    <Dialog title={t.variablesTitle} wide onClose={onClose}>
      <VariablesLoader
        key={attempt}
        chatId={chatId}
        onRetry={() => setAttempt((number) => number + 1)}
      />
    </Dialog>
  );
}

function VariablesLoader({ chatId, onRetry }: { chatId: string; onRetry: () => void }) {
  const app = useAppStore();
  const t = useMessages(chatViewMessages);
  const [loadState, setLoadState] = useState<LoadState>({ status: "loading" });
  useEffect(() => {
    let isCurrent = true;
    const show = (next: LoadState) => {
      if (isCurrent) setLoadState(next);
    };
    app.client.variables(chatId).then(
      ({ data }) => show({ status: "ready", variables: data }),
      (error: unknown) =>
        show({ status: "failed", message: error instanceof Error ? error.message : String(error) }),
    );
    return () => {
      isCurrent = false;
    };
  }, [app, chatId]);
  return (
    <div className="chat-variables">
      {loadState.status === "loading" && <p role="status">{t.variablesLoading}</p>}
      {loadState.status === "failed" && (
        <>
          <p className="field-error" role="alert">
            {t.variablesFailed(loadState.message)}
          </p>
          <Button onClick={onRetry}>{t.tryAgain}</Button>
        </>
      )}
      {loadState.status === "ready" && (
        <>
          <p className="field-hint">
            {loadState.variables.length === 0 ? t.noVariables : t.variablesHint}
          </p>
          <VariableList variables={loadState.variables} />
        </>
      )}
    </div>
  );
}

function VariableList({ variables }: { variables: readonly ChatVariable[] }) {
  if (variables.length === 0) return null;
  return (
    <ul>
      {variables.map((variable) => (
        <VariableItem key={variable.name} {...variable} />
      ))}
    </ul>
  );
}

function VariableItem({ name, tool, of: part, length, url, created_at }: ChatVariable) {
  const app = useAppStore();
  const t = useMessages(chatViewMessages);
  const format = useFormatter();
  const [content, setContent] = useState<string>();
  const [isShown, setShown] = useState(false);
  const [isLoading, setLoading] = useState(false);
  const toggle = async () => {
    if (isShown || content !== undefined) return setShown(!isShown);
    setLoading(true);
    const text = await app.attempt(async () => {
      const reply = await app.request(url);
      if (!reply.ok) throw new Error(t.variablesFailed(`HTTP ${reply.status}`));
      return reply.text();
    });
    setLoading(false);
    if (text === undefined) return;
    setContent(text);
    setShown(true);
  };
  return (
    <li>
      <div className="chat-variable">
        <code>{`{{var:${name}}}`}</code>
        <span dir="auto">{t.variableFrom(tool, parseArgumentName(part))}</span>
        <span>{t.characters(format.compactCount(length))}</span>
        <time dateTime={created_at}>{format.dateTime(created_at)}</time>
        <Button
          small
          kind="ghost"
          busy={isLoading}
          aria-expanded={isShown}
          onClick={() => void toggle()}
        >
          {isShown ? t.hideVariable : t.showVariable}
        </Button>
      </div>
      {isShown && content !== undefined && <LongText text={content} mono label={name} />}
    </li>
  );
}

/** Returns the name of the argument that a variable contains, or undefined if it contains a result. */
function parseArgumentName(part: string): string | undefined {
  // The part of an argument named "result" starts with "arguments.".
  return part === "result"
    ? undefined
    : part.replace(/^arguments\.(?=(?:arguments\.)*result$)/, "");
}
