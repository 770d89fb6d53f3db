import { bareType, blobPath, type ContentPart } from "@deltawire/tasks";
import { pathTo, chosenVersion, picturesIn } from "@deltawire/tasks/chats";
import type {
  Attachment,
  Chat,
  ChatNode,
  ModelType,
  UserNode,
  UserVersion,
} from "@deltawire/tasks/chats";
import type { InputItem } from "@deltawire/wire";
import { called, kindOfType, leftOut, sentAsItIs, type SentKind } from "./attachment-notices.ts";
import { ChatError } from "./chat-error.ts";
import {
  earlierPicture,
  toldHistory,
  toldMessage,
  type Told,
  type Telling,
} from "./told-history.ts";

/** What a model of one type is asked. */
export interface Handler {
  /** Throws where a message cannot be sent to such a model: before anything is written. */
  check(message: UserVersion, before: readonly ChatNode[]): void;
  ask(chat: Chat, message: UserNode, version: UserVersion, telling: Telling): Promise<Told<Asked>>;
  /** Whether it can call tools. Only chat models can. */
  readonly tools: boolean;
}

interface Asked {
  history: InputItem[];
  input: ContentPart[];
}

/** One for each type of model, as models differ by what they need and not by who serves them. */
export const handlers: Record<ModelType, Handler> = {
  chat: {
    tools: true,
    check({ text, attachments, contexts }) {
      if (text.trim() !== "" || attachments.length > 0 || contexts.length > 0) return;
      throw cannotSend("text", "there is nothing to send: write something or attach a file");
    },
    async ask(chat, message, version, telling) {
      const history = await toldHistory(chat, message, telling);
      const { parts, notices } = await toldMessage(version, telling);
      return {
        told: { history: history.told, input: parts },
        notices: [
          ...new Set([
            ...unsaid(history.notices, nodesBefore(chat, message), telling.model),
            ...notices,
          ]),
        ],
      };
    },
  },
  "image-gen": {
    tools: false,
    check: needsWords("a picture needs words that say what it shows"),
    ask: async (_chat, _message, version, telling) =>
      alone(version, telling, {
        why: "this model draws what the words say and takes nothing else",
      }),
  },
  "image-edit": {
    tools: false,
    check(message, before) {
      needsWords("an edit needs words that say what to change")(message);
      const pictures = picturesFor(message, before);
      if (pictures.length === 0)
        throw cannotSend(
          "attachments",
          "an edit needs a picture: attach one, or have one made in this chat first",
        );
      for (const picture of pictures) mustBeMedium(picture, "image", message);
    },
    ask: async (chat, message, version, telling) =>
      alone(version, telling, {
        medium: "image",
        taken: picturesFor(version, nodesBefore(chat, message)),
        why: "this model takes words and pictures and nothing else",
      }),
  },
  "audio-stt": {
    tools: false,
    check(message) {
      const [sound, ...more] = message.attachments.filter(isA("audio"));
      if (sound === undefined)
        throw cannotSend("attachments", "a transcription needs a sound file: attach one");
      if (more.length > 0)
        throw cannotSend(
          "attachments",
          `a transcription takes one sound file, and there are ${more.length + 1}: send each in a message of its own`,
        );
      mustBeMedium(sound, "audio", message);
    },
    ask: async (_chat, _message, version, telling) =>
      alone(version, telling, {
        medium: "audio",
        taken: version.attachments.filter(isA("audio")),
        why: "this model takes a sound and words about it and nothing else",
      }),
  },
  "audio-tts": {
    tools: false,
    check: needsWords("there is nothing to read aloud: write some words"),
    ask: async (_chat, _message, version, telling) =>
      alone(version, telling, { why: "this model reads the words aloud and takes nothing else" }),
  },
};

/** The nodes of a message's path, itself not included. */
export function nodesBefore(chat: Chat, message: UserNode): readonly ChatNode[] {
  return message.parent === null ? [] : pathTo(chat, message.parent);
}

/** What earlier answers of the same model have not told already: a picture that is left out stays left out. */
function unsaid(
  notices: readonly string[],
  before: readonly ChatNode[],
  model: string,
): readonly string[] {
  const said = before
    .flatMap((node) => (node.kind === "answer" ? node.versions : []))
    .flatMap((version) => (version.model === model ? version.notices : []));
  return notices.filter((notice) => !said.includes(notice));
}

function needsWords(reason: string): (message: UserVersion) => void {
  return ({ text }) => {
    if (text.trim() === "") throw cannotSend("text", reason);
  };
}

const nouns = { image: "picture", audio: "sound" } as const;

type Medium = keyof typeof nouns;

/** Nothing is fetched for such a model: what it is given goes with the request. */
function mustBeMedium(given: Attachment, medium: Medium, { attachments }: UserVersion): void {
  const noun = nouns[medium];
  const index = attachments.indexOf(given);
  const param = index === -1 ? "attachments" : `attachments[${index}]`;
  const { url, media_type } = given;
  if (!url.startsWith(blobPath) && !url.startsWith("data:"))
    throw cannotSend(
      index === -1 ? param : `${param}.url`,
      `the ${called(given, medium)} is only linked, and such a model is sent files that are stored here: attach the file itself`,
    );
  const told = bareType(media_type);
  // A recording in a browser is often a video without a picture.
  const isOfType = kindOfType(told) === medium || (medium === "audio" && told.startsWith("video/"));
  if (told !== "" && !isOfType)
    throw cannotSend(
      param,
      `the ${called(given, "file")} is no ${noun} but ${told}: attach a ${noun} file`,
    );
}

/** Models of media know nothing of what was said before, and take little beside the words. */
function alone(
  { text, contexts, attachments }: UserVersion,
  { vault }: Telling,
  { medium = "image", taken = [], why }: Alone,
): Told<Asked> {
  const others = attachments.filter((attachment) => !taken.includes(attachment));
  const notices = [
    ...contexts.map(({ title }) => leftOut(`context "${title}"`, why)),
    ...others.map((attachment) => leftOut(called(attachment, kindOf(attachment)), why)),
    ...(vault === undefined ? [] : taken).map((given) =>
      sentAsItIs(attachments.includes(given) ? called(given, medium) : earlierPicture, medium),
    ),
  ];
  const words: ContentPart[] = text === "" ? [] : [{ type: "text", text }];
  const files = taken.map(({ url }): ContentPart =>
    medium === "image"
      ? { type: "image_url", image_url: { url } }
      : { type: "audio_url", audio_url: { url } },
  );
  return { told: { history: [], input: [...words, ...files] }, notices: [...new Set(notices)] };
}

interface Alone {
  readonly medium?: Medium;
  /** What goes with the words, all of one medium. */
  readonly taken?: readonly Attachment[];
  /** Why nothing else does. */
  readonly why: string;
}

/** Those of the message, else the last ones that were made or attached before it. */
function picturesFor(
  { attachments }: UserVersion,
  before: readonly ChatNode[],
): readonly Attachment[] {
  const own = attachments.filter(isA("image"));
  if (own.length > 0) return own;
  for (const node of before.toReversed()) {
    const found = node.hidden ? [] : picturesOf(node);
    if (found.length > 0) return found;
  }
  return [];
}

function picturesOf(node: ChatNode): readonly Attachment[] {
  if (node.kind === "separator") return [];
  const version = chosenVersion(node);
  return "attachments" in version ? version.attachments.filter(isA("image")) : picturesIn(version);
}

/** Meant as one, or known to be one. */
function isA(medium: Medium): (attachment: Attachment) => boolean {
  return (attachment) => attachment.kind === medium || kindOf(attachment) === medium;
}

function kindOf({ kind, media_type }: Attachment): SentKind {
  return kindOfType(bareType(media_type)) ?? kind;
}

function cannotSend(param: string, reason: string): ChatError {
  return new ChatError("cannot_send", reason, { param });
}
