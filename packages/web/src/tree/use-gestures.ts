import { useEffect, useRef, type Dispatch, type RefObject, type SetStateAction } from "react";
import { moved, zoomed, type Sight } from "./sight.ts";

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
