import type { Lesson, MediaParameter, Refusal } from "./lesson.ts";
import { saidLength } from "./lessons.ts";
import { onceIf } from "./own-content.ts";
import { wordsOf } from "./refusal-words.ts";

/** How a model of an endpoint for pictures or sound has to be asked. */
export interface MediaQuirks {
  leftOut: ReadonlySet<MediaParameter>;
  links: boolean;
}

/** What the lessons about one endpoint come to. */
export function mediaQuirks(
  lessons: readonly Pick<Lesson, "media">[],
  endpoint: string,
): MediaQuirks {
  const own = lessons.flatMap(({ media }) => (media?.endpoint === endpoint ? [media] : []));
  return {
    leftOut: new Set(own.flatMap(({ leftOut }) => leftOut ?? [])),
    links: own.some(({ links }) => links === true),
  };
}

/** A request to such an endpoint that was refused. */
export interface TriedMedia {
  endpoint: string;
  /** What was sent without being asked for. */
  own: ReadonlySet<MediaParameter>;
  /** What the user wrote: an error may quote it. */
  text: string;
}

/** What a refusal of such an endpoint teaches. If it is about something else, asking without it will say so again. */
export function mediaLessonOf(
  { status, body }: Refusal,
  { endpoint, own, text: written }: TriedMedia,
): Lesson | undefined {
  if (status !== 400 && status !== 422) return undefined;
  const { text, said } = wordsOf(body);
  const refused = [...own].find((parameter) => refusals[parameter].says.test(text));
  if (refused === undefined) return undefined;
  const { code, what, says } = refusals[refused];
  return {
    code,
    what,
    said: said.slice(0, saidLength),
    flags: {},
    media: { endpoint, leftOut: [refused] },
    ...onceIf(says.test(written)),
  };
}

/** What a reply teaches that has addresses where pictures were expected. */
export function linksLesson(endpoint: string): Lesson {
  const what = "answers with addresses of pictures: asked for the pictures themselves";
  return { code: "picture_links", what, said: "", flags: {}, media: { endpoint, links: true } };
}

const refusals: Readonly<
  Record<MediaParameter, { code: "no_stream" | "response_format"; says: RegExp; what: string }>
> = {
  stream: {
    code: "no_stream",
    says: /\bstream(?:s|ed|ing)?\b|\bpartial_images\b/i,
    what: "does not stream: asked for the complete result",
  },
  response_format: {
    code: "response_format",
    says: /\bresponse_format\b/i,
    what: "does not take response_format: left out",
  },
};
