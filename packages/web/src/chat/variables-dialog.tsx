import { useEffect, useState } from "react";
import type { ChatVariable } from "@deltawire/tasks/chats";
import { LongText } from "../blocks/long-text.tsx";
import { usePage } from "../hooks/use-page.ts";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { useFormat } from "../words/format.ts";
import { useWords } from "../words/use-words.ts";
import { chatWords } from "./words.ts";

type Loaded =
  | { readonly is: "loading" }
  | { readonly is: "failed"; readonly why: string }
  | { readonly is: "ready"; readonly variables: readonly ChatVariable[] };

/** The long values that tools of a chat have left, for people to look at. */
export function VariablesDialog({ chatId, onClose }: { chatId: string; onClose: () => void }) {
  const words = useWords(chatWords);
  const [attempt, setAttempt] = useState(1);
  return (
    <Dialog title={words.variablesTitle} wide onClose={onClose}>
      <LoadedVariables
        key={attempt}
        chatId={chatId}
        onRetry={() => setAttempt((before) => before + 1)}
      />
    </Dialog>
  );
}

function LoadedVariables({ chatId, onRetry }: { chatId: string; onRetry: () => void }) {
  const page = usePage();
  const words = useWords(chatWords);
  const [loaded, setLoaded] = useState<Loaded>({ is: "loading" });
  useEffect(() => {
    let isCurrent = true;
    const show = (next: Loaded) => {
      if (isCurrent) setLoaded(next);
    };
    page.client.variables(chatId).then(
      ({ data }) => show({ is: "ready", variables: data }),
      (error: unknown) =>
        show({ is: "failed", why: error instanceof Error ? error.message : String(error) }),
    );
    return () => {
      isCurrent = false;
    };
  }, [page, chatId]);
  return (
    <div className="chat-variables">
      {loaded.is === "loading" && <p role="status">{words.variablesLoading}</p>}
      {loaded.is === "failed" && (
        <>
          <p className="field-error" role="alert">
            {words.variablesFailed(loaded.why)}
          </p>
          <Button onClick={onRetry}>{words.tryAgain}</Button>
        </>
      )}
      {loaded.is === "ready" && (
        <>
          <p className="field-hint">
            {loaded.variables.length === 0 ? words.noVariables : words.variablesHint}
          </p>
          <VariableList variables={loaded.variables} />
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
        <Variable key={variable.name} {...variable} />
      ))}
    </ul>
  );
}

function Variable({ name, tool, of: part, length, url, created_at }: ChatVariable) {
  const page = usePage();
  const words = useWords(chatWords);
  const format = useFormat();
  const [content, setContent] = useState<string>();
  const [isShown, setShown] = useState(false);
  const [isReading, setReading] = useState(false);
  const toggle = async () => {
    if (isShown || content !== undefined) return setShown(!isShown);
    setReading(true);
    const text = await page.attempt(async () => {
      const reply = await page.ask(url);
      if (!reply.ok) throw new Error(words.variablesFailed(`HTTP ${reply.status}`));
      return reply.text();
    });
    setReading(false);
    if (text === undefined) return;
    setContent(text);
    setShown(true);
  };
  return (
    <li>
      <div className="chat-variable">
        <code>{`{{var:${name}}}`}</code>
        <span dir="auto">{words.variableFrom(tool, argumentOf(part))}</span>
        <span>{words.characters(format.tokens(length))}</span>
        <time dateTime={created_at}>{format.exactly(created_at)}</time>
        <Button
          small
          kind="ghost"
          busy={isReading}
          aria-expanded={isShown}
          onClick={() => void toggle()}
        >
          {isShown ? words.hideVariable : words.showVariable}
        </Button>
      </div>
      {isShown && content !== undefined && <LongText text={content} mono label={name} />}
    </li>
  );
}

/** The name of the argument that a variable holds; undefined: it holds the result. */
function argumentOf(part: string): string | undefined {
  // An argument that is called "result" itself has a prefix.
  return part === "result"
    ? undefined
    : part.replace(/^arguments\.(?=(?:arguments\.)*result$)/, "");
}
