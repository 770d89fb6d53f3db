import type { ReactNode } from "react";
import type {
  Attachment,
  ChatChoices,
  ChatSettings,
  ContextSnippet,
  ModelChoice,
} from "@deltawire/tasks/chats";
import { assertNever, mediaTypeEssence } from "@deltawire/tasks";
import { useCellSelector } from "../hooks/use-cell.ts";
import { useAppStore } from "../hooks/use-app-store.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { useFormatter } from "../messages/format.ts";
import { useMessages } from "../messages/use-messages.ts";
import { composerMessages, type ComposerMessages } from "./composer-messages.ts";
import type { SendBlocker } from "./upload-queue.ts";
import { resolveResponder, type Responder } from "./responder.tsx";

interface ComposerNoticesProps {
  attachments: readonly Attachment[];
  contexts: readonly ContextSnippet[];
  settings: ChatSettings;
  choices: ChatChoices | undefined;
  blocker: SendBlocker | undefined;
  /** True if sending failed because the gateway could not be reached. */
  isUnreachable: boolean;
  isRunning: boolean;
  /** Name of the model or agent that writes the running answer. */
  runningResponder: string | undefined;
  /** True if the model of the running answer failed and the request will be retried. */
  isRetrying: boolean;
  hasText: boolean;
  /** True if earlier messages may contain images. */
  mayHaveImages: boolean;
  /** Long pasted text that is still in the draft. */
  pastedText: string | undefined;
  onAttachPasted: () => void;
  onDismiss: () => void;
}

/** Notices above the composer, announced to screen readers when they appear. */
export function ComposerNotices(props: ComposerNoticesProps) {
  const { attachments, contexts, settings, choices, blocker, isRunning, pastedText } = props;
  const t = useMessages(composerMessages);
  const format = useFormatter();
  const isDisconnected = useCellSelector(
    useAppStore().connection,
    ({ status }) => status === "lost" || status === "offline",
  );
  const responder = choices === undefined ? undefined : resolveResponder(settings, choices);
  const notices = collectComposerNotices({
    attachments,
    contexts,
    model: responder?.model,
    mayHaveImages: props.mayHaveImages,
    defaultName: t.unnamed,
  });
  const recipient = formatRecipient(props, responder?.name, t);
  const hasAttachments = attachments.length + contexts.length > 0;
  return (
    <div className="chat-notices" role="status">
      {pastedText !== undefined && (
        <NoticeRow icon="info">
          <span>{t.longPaste(format.compactCount(pastedText.length))}</span>
          <Button small onClick={props.onAttachPasted}>
            {t.attachAsFile}
          </Button>
          <IconButton small icon="close" label={t.dismiss} onClick={props.onDismiss} />
        </NoticeRow>
      )}
      {blocker === "sending" && isDisconnected && (
        <NoticeRow icon="info">{t.sendingAgain}</NoticeRow>
      )}
      {props.isUnreachable && <NotSentNotice />}
      {blocker === "uploading" && <NoticeRow icon="info">{t.waitForUploads}</NoticeRow>}
      {blocker === "failed upload" && <NoticeRow icon="warning">{t.failedUploads}</NoticeRow>}
      {blocker === "no model" && <NoModelNotice hasModels={(choices?.models.length ?? 0) > 0} />}
      {isRunning && recipient !== undefined && <NoticeRow icon="info">{recipient}</NoticeRow>}
      {isRunning && hasAttachments && <NoticeRow icon="info">{t.onlyText}</NoticeRow>}
      {!isRunning &&
        notices.map((notice) => (
          <NoticeRow key={notice.type} icon="warning">
            {formatNotice(notice, responder, t)}
          </NoticeRow>
        ))}
    </div>
  );
}

function NotSentNotice() {
  const t = useMessages(composerMessages);
  const isInUse = useCellSelector(
    useAppStore().connection,
    (connection) => connection.status === "lost" && connection.storeProblem?.isInUse === true,
  );
  return <NoticeRow icon="warning">{isInUse ? t.notSentInUse : t.notSent}</NoticeRow>;
}

function NoModelNotice({ hasModels }: { hasModels: boolean }) {
  const { router } = useAppStore();
  const t = useMessages(composerMessages);
  return (
    <NoticeRow icon="warning">
      <span>{hasModels ? t.chooseModel : t.noModelYet}</span>
      {!hasModels && (
        <Button small onClick={() => router.navigate({ type: "upstreams" })}>
          {t.openUpstreams}
        </Button>
      )}
    </NoticeRow>
  );
}

/** Returns a notice about who receives a message sent now. Undefined if there is no text, unless another responder answers next. */
function formatRecipient(
  { runningResponder, isRetrying, hasText }: ComposerNoticesProps,
  nextResponder: string | undefined,
  t: ComposerMessages,
): string | undefined {
  if (runningResponder === undefined) return undefined;
  const recipient = isRetrying
    ? t.recipientWhenBack(runningResponder)
    : t.recipient(runningResponder);
  if (nextResponder !== undefined && nextResponder !== runningResponder)
    return t.nextResponder(recipient, nextResponder);
  return hasText ? recipient : undefined;
}

function NoticeRow({ icon, children }: { icon: "info" | "warning"; children: ReactNode }) {
  return (
    <div className="chat-notice" data-kind={icon}>
      <Icon name={icon} small />
      {typeof children === "string" ? <span>{children}</span> : children}
    </div>
  );
}

function formatNotice(
  notice: ComposerNotice,
  responder: Responder | undefined,
  t: ComposerMessages,
): string {
  const model = responder?.name ?? "";
  switch (notice.type) {
    case "needs_image":
      return t.needsImage(model);
    case "needs_audio":
      return t.needsAudio(model);
    case "omitted":
      return responder?.model?.type === "chat"
        ? t.onlyName(notice.names.join(", "), model)
        : t.omitted(notice.names.join(", "), model);
    case "as_text":
      return t.asText(notice.names.join(", "), model);
    case "truncated":
      return t.truncated(notice.names.join(", "), model);
    default:
      return assertNever(notice);
  }
}

/** A warning that the model does not receive something, receives it in another form, or lacks something it requires. */
export type ComposerNotice =
  | { readonly type: "omitted" | "as_text" | "truncated"; readonly names: readonly string[] }
  | { readonly type: "needs_image" | "needs_audio" };

export interface OutgoingMessage {
  readonly attachments: readonly Attachment[];
  readonly contexts: readonly ContextSnippet[];
  readonly model: ModelChoice | undefined;
  /** True if earlier messages may contain images. */
  readonly mayHaveImages: boolean;
  /** Shown for attachments without a file name. */
  readonly defaultName: string;
}

export function collectComposerNotices(message: OutgoingMessage): ComposerNotice[] {
  const { attachments, contexts, model, mayHaveImages, defaultName } = message;
  if (model === undefined) return [];
  const files = attachments.map((attachment) => ({
    name: attachment.filename ?? defaultName,
    disposition: resolveDisposition(attachment, model),
    isPdf: attachment.media_type === "application/pdf",
    isLong: mayBeTruncated(attachment),
  }));
  const omittedContexts = model.type === "chat" ? [] : contexts.map(({ title }) => title);
  const omittedFiles = files.filter(({ disposition }) => disposition === "omitted").map(getName);
  const omittedNames = [...omittedFiles, ...omittedContexts];
  const textFiles = files.filter(({ disposition }) => disposition === "as_text");
  // No notice for text files, which are expected to be sent as text.
  const asTextNames = textFiles.filter(({ isPdf }) => isPdf).map(getName);
  const truncatedNames = textFiles.filter(({ isPdf, isLong }) => !isPdf && isLong).map(getName);
  const missingMedia = findMissingMedia(attachments, model, mayHaveImages);
  return [
    ...(missingMedia === undefined ? [] : [{ type: `needs_${missingMedia}` as const }]),
    ...(omittedNames.length === 0 ? [] : [{ type: "omitted" as const, names: omittedNames }]),
    ...(asTextNames.length === 0 ? [] : [{ type: "as_text" as const, names: asTextNames }]),
    ...(truncatedNames.length === 0 ? [] : [{ type: "truncated" as const, names: truncatedNames }]),
  ];
}

function getName({ name }: { name: string }): string {
  return name;
}

/** How an attachment reaches the model. `unknown` if that depends on its content. */
export type AttachmentDisposition = "sent" | "as_text" | "omitted" | "unknown";

type AttachmentInfo = Pick<Attachment, "kind" | "filename" | "media_type" | "size">;

/** Predicts how the gateway sends an attachment to this model; see docs/reference/chat-api.md#attachments-and-contexts. */
export function resolveDisposition(
  attachment: AttachmentInfo,
  model: ModelChoice,
): AttachmentDisposition {
  switch (model.type) {
    case "chat":
      return resolveChatDisposition(attachment, model);
    case "image-edit":
      return attachment.kind === "image" ? "sent" : "omitted";
    case "audio-stt":
      return attachment.kind === "audio" ? "sent" : "omitted";
    case "image-gen":
    case "audio-tts":
      return "omitted";
    default:
      return "unknown";
  }
}

function resolveChatDisposition(
  { kind, filename = "", media_type, size = 0 }: AttachmentInfo,
  model: ModelChoice,
): AttachmentDisposition {
  const type = mediaTypeEssence(media_type);
  const isSmallEnough = size <= maxMediaBytes;
  if (kind === "image" && type !== "image/svg+xml")
    return model.images && isSmallEnough && imageTypes.test(type) ? "sent" : "omitted";
  if (kind === "audio")
    return model.audio && isSmallEnough && audioTypes.test(type) ? "sent" : "omitted";
  if (type === "application/pdf" || /\.pdf$/i.test(filename))
    return model.files && isSmallEnough ? "sent" : "as_text";
  if (textTypes.test(type)) return "as_text";
  return binaryTypes.test(type) ? "omitted" : "unknown";
}

const maxMediaBytes = 25 * 1024 * 1024;
const imageTypes = /^image\/(?:png|jpeg|gif|webp)$/;
const audioTypes = /^audio\/(?:mpeg|mp3|wav|wave|x-wav|vnd\.wave)$/;
const textTypes = /^text\/|[/+](?:json|xml|yaml|javascript|toml|sql|x-sh)$/;
const binaryTypes =
  /octet-stream|zip|officedocument|msword|ms-excel|ms-powerpoint|x-tar|x-7z|font\//;

/** True if the text may exceed the limit. A file has at most as many characters as bytes. */
function mayBeTruncated({ size = 0 }: AttachmentInfo): boolean {
  return size > maxTextLength;
}

const maxTextLength = 200_000;

/** Returns the kind of media that the model requires but that is not attached. */
function findMissingMedia(
  attachments: readonly AttachmentInfo[],
  model: ModelChoice,
  mayHaveImages: boolean,
): "image" | "audio" | undefined {
  const hasAttachment = (kind: Attachment["kind"]) =>
    attachments.some((attachment) => attachment.kind === kind);
  if (model.type === "image-edit" && !mayHaveImages && !hasAttachment("image")) return "image";
  return model.type === "audio-stt" && !hasAttachment("audio") ? "audio" : undefined;
}
