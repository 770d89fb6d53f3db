import type { Lesson, MediaParameter, UpstreamRejection } from "./lesson.ts";
import { maxProviderMessageLength } from "./derive-lesson.ts";
import { markRequestSpecific } from "./request-specific-errors.ts";
import { parseRejection } from "./parse-rejection.ts";

/** Adjustments to the requests for an image or audio model, learned from earlier rejections. */
export interface MediaQuirks {
  droppedParameters: ReadonlySet<MediaParameter>;
  returnsLinks: boolean;
}

/** Combines the lessons for one type of model. */
export function buildMediaQuirks(
  lessons: readonly Pick<Lesson, "media">[],
  modelType: string,
): MediaQuirks {
  const relevant = lessons.flatMap(({ media }) => (media?.modelType === modelType ? [media] : []));
  return {
    droppedParameters: new Set(relevant.flatMap(({ droppedParameters = [] }) => droppedParameters)),
    returnsLinks: relevant.some(({ returnsLinks }) => returnsLinks === true),
  };
}

/** A request that an image or audio endpoint rejected. */
export interface MediaAttempt {
  modelType: string;
  /** The parameters that the gateway added. */
  addedParameters: ReadonlySet<MediaParameter>;
  /** The user's prompt, which the error may quote. */
  prompt: string;
}

/** Derives a lesson from an error response of a media endpoint. If the lesson is wrong, the retry fails with the same error. */
export function deriveMediaLesson(
  { status, body }: UpstreamRejection,
  { modelType, addedParameters, prompt }: MediaAttempt,
): Lesson | undefined {
  if (status !== 400 && status !== 422) return undefined;
  const { text, message: providerMessage } = parseRejection(body);
  const rejected = [...addedParameters].find((parameter) =>
    mediaRejectionRules[parameter].pattern.test(text),
  );
  if (rejected === undefined) return undefined;
  const { code, description, pattern } = mediaRejectionRules[rejected];
  return {
    code,
    description,
    providerMessage: providerMessage.slice(0, maxProviderMessageLength),
    flags: {},
    media: { modelType, droppedParameters: [rejected] },
    ...markRequestSpecific(pattern.test(prompt)),
  };
}

/** Creates the lesson for a reply that contains links instead of image data. */
export function createLinksLesson(modelType: string): Lesson {
  const description = "returns links to images; image data is requested instead";
  return {
    code: "image_links",
    description,
    providerMessage: "",
    flags: {},
    media: { modelType, returnsLinks: true },
  };
}

const mediaRejectionRules: Readonly<
  Record<
    MediaParameter,
    { code: "no_stream" | "response_format"; pattern: RegExp; description: string }
  >
> = {
  stream: {
    code: "no_stream",
    pattern: /\bstream(?:s|ed|ing)?\b|\bpartial_images\b/i,
    description: "does not support streaming; the complete result is requested",
  },
  response_format: {
    code: "response_format",
    pattern: /\bresponse_format\b/i,
    description: "does not support response_format; it is omitted",
  },
};
