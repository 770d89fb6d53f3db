import { useEffect, useRef, type Dispatch, type RefObject, type SetStateAction } from "react";

/** Pan and zoom of the tree: a point of the layout is at `(x, y) + scale * point` on the screen. */
export interface Viewport {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}

export interface ViewSize {
  readonly width: number;
  readonly height: number;
}

export interface ViewArea extends ViewSize {
  readonly x: number;
  readonly y: number;
}

export const minScale = 0.02;
export const maxScale = 2;
const viewportMargin = 32;

function panViewport(viewport: Viewport, x: number, y: number): Viewport {
  return { ...viewport, x: viewport.x + x, y: viewport.y + y };
}

/** Returns the viewport that is zoomed around `fixedPoint`, which stays in place on the screen. */
export function zoomViewport(
  viewport: Viewport,
  factor: number,
  fixedPoint: { x: number; y: number },
): Viewport {
  const scale = clamp(minScale, viewport.scale * factor, maxScale);
  const ratio = scale / viewport.scale;
  return {
    scale,
    x: fixedPoint.x - (fixedPoint.x - viewport.x) * ratio,
    y: fixedPoint.y - (fixedPoint.y - viewport.y) * ratio,
  };
}

/** Returns the viewport that shows the complete content, at most at its natural size. */
export function fitViewport(content: ViewSize, screen: ViewSize): Viewport {
  const scale = clamp(
    minScale,
    Math.min(
      1,
      (screen.width - 2 * viewportMargin) / Math.max(content.width, 1),
      (screen.height - 2 * viewportMargin) / Math.max(content.height, 1),
    ),
    1,
  );
  return {
    scale,
    x: (screen.width - content.width * scale) / 2,
    y: Math.max(viewportMargin, (screen.height - content.height * scale) / 2),
  };
}

/** Returns the viewport that shows the complete content if that is legible, else `area`. */
export function getInitialViewport(
  content: ViewSize,
  screen: ViewSize,
  area: ViewArea | undefined,
): Viewport {
  const fit = fitViewport(content, screen);
  return fit.scale >= 0.6 || area === undefined ? fit : centerOn(area, screen);
}

/** Returns the viewport that shows an area at a legible scale, below the middle, so that more ancestors of its node are visible. */
export function centerOn(area: ViewArea, screen: ViewSize): Viewport {
  const scale = 0.85;
  const center = { x: area.x + area.width / 2, y: area.y + area.height / 2 };
  return {
    scale,
    x: screen.width / 2 - center.x * scale,
    y: screen.height * 0.6 - center.y * scale,
  };
}

/** Returns the viewport that is panned just enough to show an area. Returns the same object if the area is already visible. */
export function revealArea(viewport: Viewport, screen: ViewSize, area: ViewArea): Viewport {
  const x = getOffsetIntoView(
    viewport.x + area.x * viewport.scale,
    area.width * viewport.scale,
    screen.width,
  );
  const y = getOffsetIntoView(
    viewport.y + area.y * viewport.scale,
    area.height * viewport.scale,
    screen.height,
  );
  return x === 0 && y === 0 ? viewport : panViewport(viewport, x, y);
}

/** Returns the viewport for a new screen size, with the same horizontal center. If `area` was visible, it still is. */
export function resizeViewport(
  viewport: Viewport,
  previousSize: ViewSize,
  size: ViewSize,
  area: ViewArea | undefined,
): Viewport {
  const next = panViewport(viewport, (size.width - previousSize.width) / 2, 0);
  const wasVisible =
    area !== undefined && intersects(getVisibleArea(viewport, previousSize, 0), area);
  return wasVisible ? revealArea(next, size, area) : next;
}

/** Returns the part of the layout on the screen, extended on each side by `margin` (a fraction of its size). */
export function getVisibleArea(viewport: Viewport, screen: ViewSize, margin = 0.15): ViewArea {
  const width = screen.width / viewport.scale;
  const height = screen.height / viewport.scale;
  return {
    x: -viewport.x / viewport.scale - width * margin,
    y: -viewport.y / viewport.scale - height * margin,
    width: width * (1 + 2 * margin),
    height: height * (1 + 2 * margin),
  };
}

export function intersects(a: ViewArea, b: ViewArea): boolean {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

function getOffsetIntoView(start: number, length: number, screenLength: number): number {
  if (start < viewportMargin) return viewportMargin - start;
  const overflow = start + length - (screenLength - viewportMargin);
  return overflow > 0 ? -Math.min(overflow, start - viewportMargin) : 0;
}

function clamp(min: number, value: number, max: number): number {
  return Math.max(min, Math.min(value, max));
}

/** A press that moves the pointer less than this is a click. */
const dragThresholdPx = 5;

interface PanZoom {
  /** True if the last press was a drag, so that its click event must be ignored. */
  readonly wasDrag: () => boolean;
}

/** Pans by dragging and scrolling; zooms by pinching and by Ctrl or Cmd with the wheel. */
export function usePanZoom(
  screen: RefObject<SVGSVGElement | null>,
  setViewport: Dispatch<SetStateAction<Viewport>>,
): PanZoom {
  const dragDistance = useRef(0);
  useEffect(() => {
    const element = screen.current;
    if (element === null) return undefined;
    const pointers = new Map<number, { x: number; y: number }>();
    const toLocalPoint = ({ clientX, clientY }: MouseEvent) => {
      const { left, top } = element.getBoundingClientRect();
      return { x: clientX - left, y: clientY - top };
    };
    const onPointerDown = (event: PointerEvent) => {
      if (event.button !== 0) return;
      if (pointers.size === 0) dragDistance.current = 0;
      pointers.set(event.pointerId, toLocalPoint(event));
    };
    const onPointerMove = (event: PointerEvent) => {
      const previousPoint = pointers.get(event.pointerId);
      if (previousPoint === undefined) return;
      const point = toLocalPoint(event);
      const step = { x: point.x - previousPoint.x, y: point.y - previousPoint.y };
      dragDistance.current += Math.hypot(step.x, step.y);
      if (dragDistance.current < dragThresholdPx) return;
      // Not captured earlier: the click of a captured press would target the SVG instead of a card.
      if (!element.hasPointerCapture(event.pointerId)) element.setPointerCapture(event.pointerId);
      const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
      pointers.set(event.pointerId, point);
      if (other === undefined) setViewport((viewport) => panViewport(viewport, step.x, step.y));
      else {
        const previousDistance = Math.hypot(previousPoint.x - other.x, previousPoint.y - other.y);
        const distance = Math.hypot(point.x - other.x, point.y - other.y);
        const factor = distance / Math.max(previousDistance, 1);
        const center = { x: (point.x + other.x) / 2, y: (point.y + other.y) / 2 };
        setViewport((viewport) =>
          panViewport(zoomViewport(viewport, factor, center), step.x / 2, step.y / 2),
        );
      }
    };
    const onPointerUp = (event: PointerEvent) => pointers.delete(event.pointerId);
    const onWheel = (event: WheelEvent) => {
      event.preventDefault();
      const unit = event.deltaMode === 1 ? 16 : 1;
      const [x, y] = [event.deltaX * unit, event.deltaY * unit];
      const point = toLocalPoint(event);
      // Browsers report a pinch on a touchpad as a wheel event with Ctrl.
      if (event.ctrlKey || event.metaKey) {
        const step = Math.max(-60, Math.min(y, 60));
        setViewport((viewport) => zoomViewport(viewport, Math.exp(-step / 150), point));
      } else if (event.shiftKey && x === 0) setViewport((viewport) => panViewport(viewport, -y, 0));
      else setViewport((viewport) => panViewport(viewport, -x, -y));
    };
    const controller = new AbortController();
    const { signal } = controller;
    element.addEventListener("pointerdown", onPointerDown, { signal });
    element.addEventListener("pointermove", onPointerMove, { signal });
    element.addEventListener("pointerup", onPointerUp, { signal });
    element.addEventListener("pointercancel", onPointerUp, { signal });
    element.addEventListener(
      "pointerleave",
      (event) => {
        if (!element.hasPointerCapture(event.pointerId)) onPointerUp(event);
      },
      { signal },
    );
    element.addEventListener("wheel", onWheel, { signal, passive: false });
    return () => controller.abort();
  }, [screen, setViewport]);
  return { wasDrag: () => dragDistance.current >= dragThresholdPx };
}
