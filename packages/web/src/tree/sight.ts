/** What is seen of a picture: a point of it is at `x + scale * point` on the screen. */
export interface Sight {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

export interface Area extends Size {
  readonly x: number;
  readonly y: number;
}

export const leastScale = 0.02;
export const mostScale = 2;
const edge = 32;

export function moved(sight: Sight, x: number, y: number): Sight {
  return { ...sight, x: sight.x + x, y: sight.y + y };
}

/** What is at a place on the screen stays there. */
export function zoomed(sight: Sight, factor: number, at: { x: number; y: number }): Sight {
  const scale = between(leastScale, sight.scale * factor, mostScale);
  const by = scale / sight.scale;
  return { scale, x: at.x - (at.x - sight.x) * by, y: at.y - (at.y - sight.y) * by };
}

/** All of it, no larger than it is. */
export function fitted(whole: Size, screen: Size): Sight {
  const scale = between(
    leastScale,
    Math.min(
      1,
      (screen.width - 2 * edge) / Math.max(whole.width, 1),
      (screen.height - 2 * edge) / Math.max(whole.height, 1),
    ),
    1,
  );
  return {
    scale,
    x: (screen.width - whole.width * scale) / 2,
    y: Math.max(edge, (screen.height - whole.height * scale) / 2),
  };
}

/** All of it if that can be read, else where somebody is. */
export function firstSight(whole: Size, screen: Size, place: Area | undefined): Sight {
  const all = fitted(whole, screen);
  return all.scale >= 0.6 || place === undefined ? all : closeTo(place, screen);
}

/** Close enough to be read, with more of what is above it than below. */
export function closeTo(place: Area, screen: Size): Sight {
  const scale = 0.85;
  const middle = { x: place.x + place.width / 2, y: place.y + place.height / 2 };
  return {
    scale,
    x: screen.width / 2 - middle.x * scale,
    y: screen.height * 0.6 - middle.y * scale,
  };
}

/** Moved no further than it takes to see a place; the same object where it is seen. */
export function showing(sight: Sight, screen: Size, place: Area): Sight {
  const x = stepInto(sight.x + place.x * sight.scale, place.width * sight.scale, screen.width);
  const y = stepInto(sight.y + place.y * sight.scale, place.height * sight.scale, screen.height);
  return x === 0 && y === 0 ? sight : moved(sight, x, y);
}

/** The middle stays, and a place that was seen is still seen. */
export function resized(sight: Sight, before: Size, after: Size, place: Area | undefined): Sight {
  const next = moved(sight, (after.width - before.width) / 2, 0);
  const wasSeen = place !== undefined && touches(seenArea(sight, before, 0), place);
  return wasSeen ? showing(next, after, place) : next;
}

/** The part of the picture that is on the screen, with some of what is around it. */
export function seenArea(sight: Sight, screen: Size, around = 0.15): Area {
  const width = screen.width / sight.scale;
  const height = screen.height / sight.scale;
  return {
    x: -sight.x / sight.scale - width * around,
    y: -sight.y / sight.scale - height * around,
    width: width * (1 + 2 * around),
    height: height * (1 + 2 * around),
  };
}

export function touches(one: Area, other: Area): boolean {
  return (
    one.x < other.x + other.width &&
    other.x < one.x + one.width &&
    one.y < other.y + other.height &&
    other.y < one.y + one.height
  );
}

function stepInto(start: number, length: number, room: number): number {
  if (start < edge) return edge - start;
  const over = start + length - (room - edge);
  return over > 0 ? -Math.min(over, start - edge) : 0;
}

function between(least: number, wanted: number, most: number): number {
  return Math.max(least, Math.min(wanted, most));
}
