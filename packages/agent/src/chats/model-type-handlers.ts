import { mediaTypeEssence, blobPath, type ContentPart } from "@deltawire/tasks";
import { pathTo, getChosenVersion, findImages } from "@deltawire/tasks/chats";
import type {
  Attachment,
  Chat,
  ChatNode,
  ModelType,
  UserNode,
  UserVersion,
} from "@deltawire/tasks/chats";
import type { ResponseInputItem } from "@deltawire/wire";
import {
  describeAttachment,
  kindFromMediaType,
  formatOmittedNotice,
  formatUnmaskedNotice,
  type ModelAttachmentKind,
} from "./attachment-notices.ts";
import { ChatError } from "./chat-error.ts";
import {
  earlierImageLabel,
  renderChatHistory,
  renderUserMessage,
  type Rendered,
  type ChatHistoryOptions,
} from "./model-history.ts";

/** Builds the requests for one type of model. */
export interface ModelTypeHandler {
  /** Throws if the message cannot be sent to such a model. Called before anything is written. */
  assertSendable(message: UserVersion, earlierNodes: readonly ChatNode[]): void;
  buildInput(
    chat: Chat,
    message: UserNode,
    version: UserVersion,
    options: ChatHistoryOptions,
  ): Promise<Rendered<ModelInput>>;
  /** True only for chat models. */
  readonly supportsTools: boolean;
}

interface ModelInput {
  history: ResponseInputItem[];
  input: ContentPart[];
}

/** The handlers by model type. Requests depend on the type, not on the provider. */
export const modelTypeHandlers: Record<ModelType, ModelTypeHandler> = {
  chat: {
    supportsTools: true,
    assertSendable({ text, attachments, contexts }) {
      if (text.trim() !== "" || attachments.length > 0 || contexts.length > 0) return;
      throw createCannotSendError(
        "text",
        "there is nothing to send; write something or attach a file",
      );
    },
    async buildInput(chat, message, version, options) {
      const history = await renderChatHistory(chat, message, options);
      const { parts, notices } = await renderUserMessage(version, options);
      return {
        content: { history: history.content, input: parts },
        notices: [
          ...new Set([
            ...omitRepeatedNotices(history.notices, getEarlierNodes(chat, message), options.model),
            ...notices,
          ]),
        ],
      };
    },
  },
  "image-gen": {
    supportsTools: false,
    assertSendable: requireText("describe the image to generate"),
    buildInput: async (_chat, _message, version, options) =>
      buildStandaloneInput(version, options, {
        omissionReason: "this model only accepts text",
      }),
  },
  "image-edit": {
    supportsTools: false,
    assertSendable(message, earlierNodes) {
      requireText("describe what to change in the image")(message);
      const imageAttachments = findInputImages(message, earlierNodes);
      if (imageAttachments.length === 0)
        throw createCannotSendError(
          "attachments",
          "there is no image to edit; attach one, or generate one in this chat first",
        );
      for (const imageAttachment of imageAttachments)
        assertMedia(imageAttachment, "image", message);
    },
    buildInput: async (chat, message, version, options) =>
      buildStandaloneInput(version, options, {
        medium: "image",
        sentAttachments: findInputImages(version, getEarlierNodes(chat, message)),
        omissionReason: "this model only accepts text and images",
      }),
  },
  "audio-stt": {
    supportsTools: false,
    assertSendable(message) {
      const [audioAttachment, ...otherAudio] = message.attachments.filter(isMediaKind("audio"));
      if (audioAttachment === undefined)
        throw createCannotSendError("attachments", "attach an audio file to transcribe");
      if (otherAudio.length > 0)
        throw createCannotSendError(
          "attachments",
          `only one audio file can be transcribed at a time, got ${otherAudio.length + 1}; send each in its own message`,
        );
      assertMedia(audioAttachment, "audio", message);
    },
    buildInput: async (_chat, _message, version, options) =>
      buildStandaloneInput(version, options, {
        medium: "audio",
        sentAttachments: version.attachments.filter(isMediaKind("audio")),
        omissionReason: "this model only accepts audio and text",
      }),
  },
  "audio-tts": {
    supportsTools: false,
    assertSendable: requireText("write the text to read aloud"),
    buildInput: async (_chat, _message, version, options) =>
      buildStandaloneInput(version, options, {
        omissionReason: "this model only accepts text",
      }),
  },
};

/** Returns the nodes on the path to a message, without the message. */
export function getEarlierNodes(chat: Chat, message: UserNode): readonly ChatNode[] {
  return message.parent === null ? [] : pathTo(chat, message.parent);
}

/** Removes notices that an earlier answer of the same model already showed. */
function omitRepeatedNotices(
  notices: readonly string[],
  earlierNodes: readonly ChatNode[],
  model: string,
): readonly string[] {
  const shownNotices = earlierNodes
    .flatMap((node) => (node.kind === "answer" ? node.versions : []))
    .flatMap((version) => (version.model === model ? version.notices : []));
  return notices.filter((notice) => !shownNotices.includes(notice));
}

/** Returns a check that the message has text. */
function requireText(reason: string): (message: UserVersion) => void {
  return ({ text }) => {
    if (text.trim() === "") throw createCannotSendError("text", reason);
  };
}

const mediaNouns = { image: "an image", audio: "an audio" } as const;

type MediaKind = keyof typeof mediaNouns;

/** Throws if the attachment is a link, which is not fetched for media models, or has another media type. */
function assertMedia(
  mediaAttachment: Attachment,
  medium: MediaKind,
  { attachments }: UserVersion,
): void {
  const noun = mediaNouns[medium];
  const index = attachments.indexOf(mediaAttachment);
  const param = index === -1 ? "attachments" : `attachments[${index}]`;
  const { url, media_type } = mediaAttachment;
  if (!url.startsWith(blobPath) && !url.startsWith("data:"))
    throw createCannotSendError(
      index === -1 ? param : `${param}.url`,
      `the ${describeAttachment(mediaAttachment, medium)} is a link, but this model needs the file itself; attach the file`,
    );
  const declaredType = mediaTypeEssence(media_type);
  // Browsers often give audio recordings a video type, such as video/webm.
  const isOfType =
    kindFromMediaType(declaredType) === medium ||
    (medium === "audio" && declaredType.startsWith("video/"));
  if (declaredType !== "" && !isOfType)
    throw createCannotSendError(
      param,
      `the ${describeAttachment(mediaAttachment, "file")} is not ${noun} file but ${declaredType}; attach ${noun} file`,
    );
}

/** Builds the input of a media model: the text and attachments of one kind, without history. */
function buildStandaloneInput(
  { text, contexts, attachments }: UserVersion,
  { vault }: ChatHistoryOptions,
  { medium = "image", sentAttachments = [], omissionReason }: StandaloneInputOptions,
): Rendered<ModelInput> {
  const omittedAttachments = attachments.filter(
    (attachment) => !sentAttachments.includes(attachment),
  );
  const notices = [
    ...contexts.map(({ title }) => formatOmittedNotice(`context "${title}"`, omissionReason)),
    ...omittedAttachments.map((attachment) =>
      formatOmittedNotice(describeAttachment(attachment, getKind(attachment)), omissionReason),
    ),
    ...(vault === undefined ? [] : sentAttachments).map((mediaAttachment) =>
      formatUnmaskedNotice(
        attachments.includes(mediaAttachment)
          ? describeAttachment(mediaAttachment, medium)
          : earlierImageLabel,
        medium,
      ),
    ),
  ];
  const textParts: ContentPart[] = text === "" ? [] : [{ type: "text", text }];
  const files = sentAttachments.map(({ url }): ContentPart =>
    medium === "image"
      ? { type: "image_url", image_url: { url } }
      : { type: "audio_url", audio_url: { url } },
  );
  return {
    content: { history: [], input: [...textParts, ...files] },
    notices: [...new Set(notices)],
  };
}

interface StandaloneInputOptions {
  readonly medium?: MediaKind;
  /** Attachments that are sent with the text, all of one kind. */
  readonly sentAttachments?: readonly Attachment[];
  /** Why the other attachments are not sent. */
  readonly omissionReason: string;
}

/** Returns the images of the message, or else the latest ones that were attached or generated before it. */
function findInputImages(
  { attachments }: UserVersion,
  earlierNodes: readonly ChatNode[],
): readonly Attachment[] {
  const attachedImages = attachments.filter(isMediaKind("image"));
  if (attachedImages.length > 0) return attachedImages;
  for (const node of earlierNodes.toReversed()) {
    const nodeImages = node.hidden ? [] : getNodeImages(node);
    if (nodeImages.length > 0) return nodeImages;
  }
  return [];
}

function getNodeImages(node: ChatNode): readonly Attachment[] {
  if (node.kind === "separator") return [];
  const version = getChosenVersion(node);
  return "attachments" in version
    ? version.attachments.filter(isMediaKind("image"))
    : findImages(version);
}

/** True if the attachment was declared as this kind or has a matching media type. */
function isMediaKind(medium: MediaKind): (attachment: Attachment) => boolean {
  return (attachment) => attachment.kind === medium || getKind(attachment) === medium;
}

function getKind({ kind, media_type }: Attachment): ModelAttachmentKind {
  return kindFromMediaType(mediaTypeEssence(media_type)) ?? kind;
}

function createCannotSendError(param: string, reason: string): ChatError {
  return new ChatError("cannot_send", reason, { param });
}
