import type { ModelType } from "@deltawire/tasks/chats";
import { isObject, type JsonObject, type JsonValue, type ResponsesRequest } from "@deltawire/wire";
import type { MediaParameter } from "../learning/lesson.ts";
import type { MediaQuirks } from "../learning/media-refusals.ts";
import { Problem } from "../problem.ts";
import { unreachable } from "../unreachable.ts";
import { extensionOf } from "./media-types.ts";
import { lastUserMessage, type GivenFile, type UserMessage } from "./user-message.ts";

export type MediaType = Exclude<ModelType, "chat">;

/** What a request asks a model for media for. */
export interface Wanted {
  type: MediaType;
  message: UserMessage;
  /** More parameters of the endpoint, by their names there. */
  media: JsonObject;
}

export interface EndpointCall {
  path: string;
  headers: Record<string, string>;
  body: string | Buffer;
  own: ReadonlySet<MediaParameter>;
}

/** Previews of a picture, unless somebody wants another number. */
const usualPreviews = 2;
const usualVoice = "alloy";

/** Throws a Problem where something is missing. */
export function wantedOf(request: ResponsesRequest, type: MediaType): Wanted {
  const message = lastUserMessage(request);
  const given = request["media"];
  const media = Object.fromEntries(
    Object.entries(isObject(given) ? given : {}).filter(([, value]) => value !== null),
  );
  const missing = missingIn(type, message);
  if (missing === undefined) return { type, message, media };
  throw new Problem("invalid_request", missing, { param: "input" });
}

function missingIn(
  type: MediaType,
  { text, images, sounds, linked }: UserMessage,
): string | undefined {
  const hint = linked.length === 0 ? "" : "; one that is only linked is not fetched";
  switch (type) {
    case "image-gen":
      return text === "" ? "input: a picture needs words that say what to draw" : undefined;
    case "image-edit":
      if (images.length === 0) return `input: an edit needs a picture${hint}`;
      return text === "" ? "input: an edit needs words that say what to change" : undefined;
    case "audio-stt":
      if (sounds.length === 1) return undefined;
      return sounds.length === 0
        ? `input: a transcription needs a sound${hint}`
        : `input: a transcription takes one sound, and there are ${sounds.length}`;
    case "audio-tts":
      return text === "" ? "input: there is nothing to say" : undefined;
    default:
      return unreachable(type);
  }
}

/** How many previews are asked for, if any. */
export function previewsOf({ media }: Wanted): number {
  const { partial_images: asked } = media;
  return typeof asked === "number" ? asked : usualPreviews;
}

export async function callFor(
  wanted: Wanted,
  model: string,
  quirks: MediaQuirks,
): Promise<EndpointCall> {
  const { type, message, media } = wanted;
  const { text, images, sounds } = message;
  const { stream: wish, partial_images: _previews, stream_format: _format, ...rest } = media;
  const streams = wish !== false && !quirks.leftOut.has("stream");
  switch (type) {
    case "image-gen": {
      const own = pictureParameters(wanted, streams, quirks);
      return jsonCall("/images/generations", { ...rest, ...own, model, prompt: text }, own);
    }
    case "image-edit": {
      const own = pictureParameters(wanted, streams, quirks);
      // Older servers know only `image`, which can be one.
      const field = images.length === 1 ? "image" : "image[]";
      const files = images.map((file, at) => ({ field, file, name: `picture-${at + 1}` }));
      return uploadCall("/images/edits", { ...rest, ...own, model, prompt: text }, files, own);
    }
    case "audio-stt": {
      const own: JsonObject = streams ? { stream: true } : {};
      const files = sounds.map((file) => ({ field: "file", file, name: "sound" }));
      const hint = text === "" ? {} : { prompt: text };
      const fields = { ...rest, ...own, ...hint, model };
      return uploadCall("/audio/transcriptions", fields, files, own);
    }
    case "audio-tts":
      return jsonCall("/audio/speech", { voice: usualVoice, ...rest, model, input: text }, {});
    default:
      return unreachable(type);
  }
}

function pictureParameters(wanted: Wanted, streams: boolean, quirks: MediaQuirks): JsonObject {
  const { n, response_format: format } = wanted.media;
  // Previews do not say which of several pictures they are of.
  if (streams && (n === undefined || n === 1))
    return { stream: true, partial_images: previewsOf(wanted) };
  // The servers that stream answer with pictures, and refuse to be told; the older ones have to be told.
  const isOld = quirks.leftOut.has("stream") || quirks.links;
  const says = isOld && format === undefined && !quirks.leftOut.has("response_format");
  return says ? { response_format: "b64_json" } : {};
}

function jsonCall(path: string, body: JsonObject, own: JsonObject): EndpointCall {
  const headers = { "content-type": "application/json", accept: "*/*" };
  return { path, headers, body: JSON.stringify(body), own: namesOf(own) };
}

/** Held in memory, so that it can be sent again. */
async function uploadCall(
  path: string,
  fields: JsonObject,
  files: readonly { field: string; name: string; file: GivenFile }[],
  own: JsonObject,
): Promise<EndpointCall> {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields))
    if (Array.isArray(value)) for (const one of value) form.append(`${name}[]`, fieldText(one));
    else form.append(name, fieldText(value));
  for (const { field, name, file } of files) {
    const { bytes, mediaType } = file;
    const blob = new Blob([new Uint8Array(bytes)], { type: mediaType });
    form.append(field, blob, `${name}.${extensionOf(mediaType)}`);
  }
  const packed = new Response(form);
  const headers = { "content-type": packed.headers.get("content-type") ?? "", accept: "*/*" };
  const body = Buffer.from(await packed.arrayBuffer());
  return { path, headers, body, own: namesOf(own) };
}

function fieldText(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? "");
}

function namesOf(own: JsonObject): ReadonlySet<MediaParameter> {
  const names: MediaParameter[] = ["stream", "response_format"];
  return new Set(names.filter((name) => own[name] !== undefined));
}
