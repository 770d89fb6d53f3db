import type { ReactNode } from "react";
import type {
  Attachment,
  ChatChoices,
  ChatSettings,
  ContextSnippet,
  ModelChoice,
} from "@deltawire/tasks/chats";
import { bareType } from "@deltawire/tasks";
import { usePicked } from "../hooks/use-cell.ts";
import { usePage } from "../hooks/use-page.ts";
import { Button, IconButton } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { unreachable } from "../unreachable.ts";
import { useFormat } from "../words/format.ts";
import { useWords } from "../words/use-words.ts";
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

/** What somebody should know before the message is sent. */
export type ComposerNotice =
  | { readonly is: "left out" | "as text" | "cut"; readonly names: readonly string[] }
  | { readonly is: "needs picture" | "needs sound" };

export interface ToBeSent {
  readonly attachments: readonly Attachment[];
  readonly contexts: readonly ContextSnippet[];
  readonly model: ModelChoice | undefined;
  /** Some may have been made or attached before. */
  readonly mayHavePictures: boolean;
  readonly unnamed: string;
}

export function noticesFor(message: ToBeSent): ComposerNotice[] {
  const { attachments, contexts, model, mayHavePictures, unnamed } = message;
  if (model === undefined) return [];
  const named = attachments.map((each) => ({
    name: each.filename ?? unnamed,
    fate: fateOf(each, model),
    isPdf: each.media_type === "application/pdf",
    mayBeCut: mayBeCut(each),
  }));
  const texts = model.type === "chat" ? [] : contexts.map(({ title }) => title);
  const leftOut = [...named.filter(({ fate }) => fate === "left out").map(nameOf), ...texts];
  // That a text goes as a text is no news.
  const asText = named.filter(({ fate, isPdf }) => fate === "as text" && isPdf).map(nameOf);
  const cut = named
    .filter(({ fate, isPdf, mayBeCut: may }) => fate === "as text" && !isPdf && may)
    .map(nameOf);
  const missing = missingFor(attachments, model, mayHavePictures);
  return [
    ...(missing === undefined ? [] : [{ is: `needs ${missing}` as const }]),
    ...(leftOut.length === 0 ? [] : [{ is: "left out" as const, names: leftOut }]),
    ...(asText.length === 0 ? [] : [{ is: "as text" as const, names: asText }]),
    ...(cut.length === 0 ? [] : [{ is: "cut" as const, names: cut }]),
  ];
}

function nameOf({ name }: { name: string }): string {
  return name;
}

/** What becomes of something that is attached. `unknown`: its bytes decide. */
export type Fate = "taken" | "as text" | "left out" | "unknown";

type Attached = Pick<Attachment, "kind" | "filename" | "media_type" | "size">;

/** As the gateway will treat it for this model: docs/chats.md, "What the model gets". */
export function fateOf(attached: Attached, model: ModelChoice): Fate {
  switch (model.type) {
    case "chat":
      return fateInChat(attached, model);
    case "image-edit":
      return attached.kind === "image" ? "taken" : "left out";
    case "audio-stt":
      return attached.kind === "audio" ? "taken" : "left out";
    case "image-gen":
    case "audio-tts":
      return "left out";
    default:
      return "unknown";
  }
}

function fateInChat(
  { kind, filename = "", media_type, size = 0 }: Attached,
  model: ModelChoice,
): Fate {
  const type = bareType(media_type);
  const fits = size <= largestMedium;
  if (kind === "image" && type !== "image/svg+xml")
    return model.images && fits && pictures.test(type) ? "taken" : "left out";
  if (kind === "audio") return model.audio && fits && sounds.test(type) ? "taken" : "left out";
  if (type === "application/pdf" || /\.pdf$/i.test(filename))
    return model.files && fits ? "taken" : "as text";
  if (readable.test(type)) return "as text";
  return unreadable.test(type) ? "left out" : "unknown";
}

const largestMedium = 25 * 1024 * 1024;
const pictures = /^image\/(?:png|jpeg|gif|webp)$/;
const sounds = /^audio\/(?:mpeg|mp3|wav|wave|x-wav|vnd\.wave)$/;
const readable = /^text\/|[/+](?:json|xml|yaml|javascript|toml|sql|x-sh)$/;
const unreadable =
  /octet-stream|zip|officedocument|msword|ms-excel|ms-powerpoint|x-tar|x-7z|font\//;

/** Whether a model may get no more than the beginning of a text: a byte is a character at most. */
function mayBeCut({ size = 0 }: Attached): boolean {
  return size > longestText;
}

const longestText = 200_000;

/** What a model must have beside the words, and does not get from what is attached. */
function missingFor(
  attached: readonly Attached[],
  model: ModelChoice,
  mayHavePictures: boolean,
): "picture" | "sound" | undefined {
  const has = (kind: Attachment["kind"]) => attached.some((each) => each.kind === kind);
  if (model.type === "image-edit" && !mayHavePictures && !has("image")) return "picture";
  return model.type === "audio-stt" && !has("audio") ? "sound" : undefined;
}
