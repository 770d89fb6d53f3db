import type { ReactNode } from "react";
import type { Attachment, ChatChoices, ChatSettings, ContextSnippet } from "@deltawire/tasks/chats";
import { usePicked } from "../hooks/use-cell.ts";
import { usePage } from "../hooks/use-page.ts";
import { Button, IconButton } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { useFormat } from "../words/format.ts";
import { unreachable } from "../unreachable.ts";
import { useWords } from "../words/use-words.ts";
import { noticesFor, type ComposerNotice } from "./fitting-model.ts";
import { composerWords } from "./composer-words.ts";
import type { Obstacle } from "./uploads.ts";
import { answererIn, type Answerer } from "./who-answers.tsx";

interface ComposerNoticesProps {
  attachments: readonly Attachment[];
  contexts: readonly ContextSnippet[];
  settings: ChatSettings;
  choices: ChatChoices | undefined;
  obstacle: Obstacle | undefined;
  /** It was to be sent, and the gateway could not be reached. */
  isUnreached: boolean;
  isRunning: boolean;
  /** Whoever writes the answer that runs. */
  answering: string | undefined;
  /** Its model failed and will be asked again. */
  isRetrying: boolean;
  hasWords: boolean;
  mayHavePictures: boolean;
  /** A long text that still stands among the words. */
  pasted: string | undefined;
  onMakeFile: () => void;
  onDismiss: () => void;
}

/** What somebody should know before it is sent, said as it comes up. */
export function ComposerNotices(props: ComposerNoticesProps) {
  const { attachments, contexts, settings, choices, obstacle, isRunning, pasted } = props;
  const words = useWords(composerWords);
  const format = useFormat();
  const isCutOff = usePicked(usePage().connection, ({ is }) => is === "lost" || is === "offline");
  const answerer = choices === undefined ? undefined : answererIn(settings, choices);
  const notices = noticesFor({
    attachments,
    contexts,
    model: answerer?.model,
    mayHavePictures: props.mayHavePictures,
    unnamed: words.unnamed,
  });
  const told = toldTo(props, answerer?.name, words);
  const hasBeside = attachments.length + contexts.length > 0;
  return (
    <div className="chat-notices" role="status">
      {pasted !== undefined && (
        <Notice icon="info">
          <span>{words.longPaste(format.tokens(pasted.length))}</span>
          <Button small onClick={props.onMakeFile}>
            {words.makeFile}
          </Button>
          <IconButton small icon="close" label={words.dismiss} onClick={props.onDismiss} />
        </Notice>
      )}
      {obstacle === "sending" && isCutOff && <Notice icon="info">{words.trying}</Notice>}
      {props.isUnreached && <NotSent />}
      {obstacle === "uploading" && <Notice icon="info">{words.waitForUploads}</Notice>}
      {obstacle === "failed upload" && <Notice icon="warning">{words.failedUploads}</Notice>}
      {obstacle === "no model" && <NoModel hasModels={(choices?.models.length ?? 0) > 0} />}
      {isRunning && told !== undefined && <Notice icon="info">{told}</Notice>}
      {isRunning && hasBeside && <Notice icon="info">{words.onlyWords}</Notice>}
      {!isRunning &&
        notices.map((notice) => (
          <Notice key={notice.is} icon="warning">
            {said(notice, answerer, words)}
          </Notice>
        ))}
    </div>
  );
}

function NotSent() {
  const words = useWords(composerWords);
  const isInUse = usePicked(
    usePage().connection,
    (connection) => connection.is === "lost" && connection.store?.isInUse === true,
  );
  return <Notice icon="warning">{isInUse ? words.notSentInUse : words.notSent}</Notice>;
}

function NoModel({ hasModels }: { hasModels: boolean }) {
  const { router } = usePage();
  const words = useWords(composerWords);
  return (
    <Notice icon="warning">
      <span>{hasModels ? words.chooseModel : words.noModelYet}</span>
      {!hasModels && (
        <Button small onClick={() => router.go({ is: "upstreams" })}>
          {words.goUpstreams}
        </Button>
      )}
    </Notice>
  );
}

/** Somebody who chose another model meanwhile should know it before writing. */
function toldTo(
  { answering, isRetrying, hasWords }: ComposerNoticesProps,
  next: string | undefined,
  words: ComposerWords,
): string | undefined {
  if (answering === undefined) return undefined;
  const told = isRetrying ? words.toldWhenBack(answering) : words.toldTo(answering);
  if (next !== undefined && next !== answering) return words.thenOther(told, next);
  return hasWords ? told : undefined;
}

type ComposerWords = (typeof composerWords)["en"];

function Notice({ icon, children }: { icon: "info" | "warning"; children: ReactNode }) {
  return (
    <div className="chat-notice" data-kind={icon}>
      <Icon name={icon} small />
      {typeof children === "string" ? <span>{children}</span> : children}
    </div>
  );
}

function said(
  notice: ComposerNotice,
  answerer: Answerer | undefined,
  words: ComposerWords,
): string {
  const model = answerer?.name ?? "";
  switch (notice.is) {
    case "needs picture":
      return words.needsPicture(model);
    case "needs sound":
      return words.needsSound(model);
    case "left out":
      return answerer?.model?.type === "chat"
        ? words.onlyName(notice.names.join(", "), model)
        : words.leftOut(notice.names.join(", "), model);
    case "as text":
      return words.asText(notice.names.join(", "), model);
    case "cut":
      return words.cut(notice.names.join(", "), model);
    default:
      return unreachable(notice);
  }
}
