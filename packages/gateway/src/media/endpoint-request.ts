import { assertNever } from "@deltawire/tasks";
import type { ModelType } from "@deltawire/tasks/chats";
import { isObject, type JsonObject, type JsonValue, type ResponsesRequest } from "@deltawire/wire";
import type { MediaParameter } from "../learning/lesson.ts";
import type { MediaQuirks } from "../learning/derive-media-lesson.ts";
import { GatewayError } from "../gateway-error.ts";
import { getFileExtension } from "./media-types.ts";
import { parseMediaPrompt, type InputFile, type MediaPrompt } from "./media-prompt.ts";

export type MediaModelType = Exclude<ModelType, "chat">;

/** A decoded request to an image or audio model. */
export interface MediaRequest {
  type: MediaModelType;
  prompt: MediaPrompt;
  /** Additional endpoint parameters, under the names that the endpoint uses. */
  parameters: JsonObject;
}

export interface EndpointRequest {
  path: string;
  headers: Record<string, string>;
  body: string | Buffer;
  addedParameters: ReadonlySet<MediaParameter>;
}

/** Previews per image if the request does not set `partial_images`. */
const defaultPreviewCount = 2;
const defaultVoice = "alloy";

/** Throws a GatewayError if the request lacks input that models of this type require. */
export function parseMediaRequest(request: ResponsesRequest, type: MediaModelType): MediaRequest {
  const prompt = parseMediaPrompt(request);
  const rawParameters = request["media"];
  const parameters = Object.fromEntries(
    Object.entries(isObject(rawParameters) ? rawParameters : {}).filter(
      ([, value]) => value !== null,
    ),
  );
  const problem = findMissingInput(type, prompt);
  if (problem === undefined) return { type, prompt, parameters };
  throw new GatewayError("invalid_request", problem, { param: "input" });
}

function findMissingInput(
  type: MediaModelType,
  { text, images, audio, linkedUrls }: MediaPrompt,
): string | undefined {
  const hint = linkedUrls.length === 0 ? "" : "; links are not fetched";
  switch (type) {
    case "image-gen":
      return text === "" ? "input: describe the image to generate" : undefined;
    case "image-edit":
      if (images.length === 0) return `input: attach an image to edit${hint}`;
      return text === "" ? "input: describe what to change in the image" : undefined;
    case "audio-stt":
      if (audio.length === 1) return undefined;
      return audio.length === 0
        ? `input: attach an audio file to transcribe${hint}`
        : `input: attach only one audio file, got ${audio.length}`;
    case "audio-tts":
      return text === "" ? "input: write the text to read aloud" : undefined;
    default:
      return assertNever(type);
  }
}

/** Returns the number of previews to request. */
export function getPreviewCount({ parameters }: MediaRequest): number {
  const { partial_images: count } = parameters;
  return typeof count === "number" ? count : defaultPreviewCount;
}

export async function buildEndpointRequest(
  mediaRequest: MediaRequest,
  model: string,
  quirks: MediaQuirks,
): Promise<EndpointRequest> {
  const { type, prompt, parameters } = mediaRequest;
  const { text, images, audio } = prompt;
  const {
    stream: requestedStream,
    partial_images: _previews,
    stream_format: _format,
    ...rest
  } = parameters;
  const isStreamed = requestedStream !== false && !quirks.droppedParameters.has("stream");
  switch (type) {
    case "image-gen": {
      const addedParameters = buildImageParameters(mediaRequest, isStreamed, quirks);
      return buildJsonRequest(
        "/images/generations",
        { ...rest, ...addedParameters, model, prompt: text },
        addedParameters,
      );
    }
    case "image-edit": {
      const addedParameters = buildImageParameters(mediaRequest, isStreamed, quirks);
      // Older servers only support the field `image`, with one image.
      const field = images.length === 1 ? "image" : "image[]";
      const files = images.map((file, index) => ({ field, file, name: `image-${index + 1}` }));
      return buildUploadRequest(
        "/images/edits",
        { ...rest, ...addedParameters, model, prompt: text },
        files,
        addedParameters,
      );
    }
    case "audio-stt": {
      const addedParameters: JsonObject = isStreamed ? { stream: true } : {};
      const files = audio.map((file) => ({ field: "file", file, name: "audio" }));
      const promptField = text === "" ? {} : { prompt: text };
      const fields = { ...rest, ...addedParameters, ...promptField, model };
      return buildUploadRequest("/audio/transcriptions", fields, files, addedParameters);
    }
    case "audio-tts":
      return buildJsonRequest(
        "/audio/speech",
        { voice: defaultVoice, ...rest, model, input: text },
        {},
      );
    default:
      return assertNever(type);
  }
}

function buildImageParameters(
  mediaRequest: MediaRequest,
  isStreamed: boolean,
  quirks: MediaQuirks,
): JsonObject {
  const { n, response_format: format } = mediaRequest.parameters;
  // Previews do not identify their image, so they are only requested for a single one.
  if (isStreamed && (n === undefined || n === 1))
    return { stream: true, partial_images: getPreviewCount(mediaRequest) };
  // Servers that can stream always return image data and reject response_format; older servers need it.
  const isOldServer = quirks.droppedParameters.has("stream") || quirks.returnsLinks;
  const setsFormat =
    isOldServer && format === undefined && !quirks.droppedParameters.has("response_format");
  return setsFormat ? { response_format: "b64_json" } : {};
}

function buildJsonRequest(
  path: string,
  body: JsonObject,
  addedParameters: JsonObject,
): EndpointRequest {
  const headers = { "content-type": "application/json", accept: "*/*" };
  return {
    path,
    headers,
    body: JSON.stringify(body),
    addedParameters: listAddedParameters(addedParameters),
  };
}

/** Encodes the form in memory, so that it can be sent again. */
async function buildUploadRequest(
  path: string,
  fields: JsonObject,
  files: readonly { field: string; name: string; file: InputFile }[],
  addedParameters: JsonObject,
): Promise<EndpointRequest> {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields))
    if (Array.isArray(value)) for (const item of value) form.append(`${name}[]`, formatField(item));
    else form.append(name, formatField(value));
  for (const { field, name, file } of files) {
    const { bytes, mediaType } = file;
    const blob = new Blob([new Uint8Array(bytes)], { type: mediaType });
    form.append(field, blob, `${name}.${getFileExtension(mediaType)}`);
  }
  const encodedForm = new Response(form);
  const headers = { "content-type": encodedForm.headers.get("content-type") ?? "", accept: "*/*" };
  const body = Buffer.from(await encodedForm.arrayBuffer());
  return { path, headers, body, addedParameters: listAddedParameters(addedParameters) };
}

function formatField(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? "");
}

function listAddedParameters(addedParameters: JsonObject): ReadonlySet<MediaParameter> {
  const names: MediaParameter[] = ["stream", "response_format"];
  return new Set(names.filter((name) => addedParameters[name] !== undefined));
}
