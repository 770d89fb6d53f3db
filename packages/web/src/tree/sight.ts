import { useEffect, useRef, type Dispatch, type RefObject, type SetStateAction } from "react";

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

function moved(sight: Sight, x: number, y: number): Sight {
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

/** A pointer that moved less has pressed, not dragged. */
const slack = 5;

interface Gestures {
  /** Whether the last press was a drag: then it chooses nothing. */
  readonly wasDrag: () => boolean;
}

/** Dragging and scrolling move, two fingers and Control with the wheel zoom. */
export function useGestures(
  screen: RefObject<SVGSVGElement | null>,
  setSight: Dispatch<SetStateAction<Sight>>,
): Gestures {
  const travelled = useRef(0);
  useEffect(() => {
    const element = screen.current;
    if (element === null) return undefined;
    const pointers = new Map<number, { x: number; y: number }>();
    const placeOf = ({ clientX, clientY }: MouseEvent) => {
      const { left, top } = element.getBoundingClientRect();
      return { x: clientX - left, y: clientY - top };
    };
    const down = (event: PointerEvent) => {
      if (event.button !== 0) return;
      if (pointers.size === 0) travelled.current = 0;
      pointers.set(event.pointerId, placeOf(event));
    };
    const move = (event: PointerEvent) => {
      const before = pointers.get(event.pointerId);
      if (before === undefined) return;
      const now = placeOf(event);
      const step = { x: now.x - before.x, y: now.y - before.y };
      travelled.current += Math.hypot(step.x, step.y);
      if (travelled.current < slack) return;
      // Captured only now: a captured press would be a click on the whole picture.
      if (!element.hasPointerCapture(event.pointerId)) element.setPointerCapture(event.pointerId);
      const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
      pointers.set(event.pointerId, now);
      if (other === undefined) setSight((sight) => moved(sight, step.x, step.y));
      else {
        const apart = Math.hypot(before.x - other.x, before.y - other.y);
        const factor = Math.hypot(now.x - other.x, now.y - other.y) / Math.max(apart, 1);
        const middle = { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 };
        setSight((sight) => moved(zoomed(sight, factor, middle), step.x / 2, step.y / 2));
      }
    };
    const up = (event: PointerEvent) => pointers.delete(event.pointerId);
    const wheel = (event: WheelEvent) => {
      event.preventDefault();
      const unit = event.deltaMode === 1 ? 16 : 1;
      const [x, y] = [event.deltaX * unit, event.deltaY * unit];
      const at = placeOf(event);
      // A pinch on a touchpad comes as a wheel with Control.
      if (event.ctrlKey || event.metaKey) {
        const step = Math.max(-60, Math.min(y, 60));
        setSight((sight) => zoomed(sight, Math.exp(-step / 150), at));
      } else if (event.shiftKey && x === 0) setSight((sight) => moved(sight, -y, 0));
      else setSight((sight) => moved(sight, -x, -y));
    };
    const stop = new AbortController();
    const { signal } = stop;
    element.addEventListener("pointerdown", down, { signal });
    element.addEventListener("pointermove", move, { signal });
    element.addEventListener("pointerup", up, { signal });
    element.addEventListener("pointercancel", up, { signal });
    element.addEventListener(
      "pointerleave",
      (event) => {
        if (!element.hasPointerCapture(event.pointerId)) up(event);
      },
      { signal },
    );
    element.addEventListener("wheel", wheel, { signal, passive: false });
    return () => stop.abort();
  }, [screen, setSight]);
  return { wasDrag: () => travelled.current >= slack };
}
