import { useEffect, useRef, useState, type ReactNode } from "react";
import { flushSync } from "react-dom";
import { useHouse } from "./house.ts";
import { hasFocus, isInUse } from "./in-use.ts";

interface RoomProps {
  /** By which its height is remembered: another one where it holds something else. */
  name: string;
  className: string;
  /** How high it may be that was never drawn, in px. */
  guess: () => number;
  /** Somebody wants to see something of it, wherever it is. */
  isWanted: boolean;
  /** From the first, before anybody has looked where it is. */
  isDrawnAtOnce: boolean;
  children: () => ReactNode;
}

/** What it holds, or as much room as that takes where nobody can see it. */
export function Room(props: RoomProps) {
  const { name, className, guess, isWanted, isDrawnAtOnce, children } = props;
  const house = useHouse();
  const element = useRef<HTMLDivElement>(null);
  const [isNear, setNear] = useState(isDrawnAtOnce);
  useEffect(() => {
    const { current } = element;
    if (current === null) return undefined;
    return house.watcher.watch(current, (near, height) => {
      if (near) {
        flushSync(() => setNear(true));
        return true;
      }
      if (isInUse(current) || isBesideFocus(current)) return true;
      house.heights.set(name, height);
      setNear(false);
      return false;
    });
  }, [house, name]);
  if (isNear || isWanted)
    return (
      <div
        ref={element}
        className={className}
        onFocus={({ currentTarget }) =>
          // Not within the drawing that may have given it the focus.
          queueMicrotask(() => house.watcher.tellBeside(currentTarget))
        }
      >
        {children()}
      </div>
    );
  const blockSize = house.heights.get(name) ?? guess();
  return <div ref={element} className={className} style={{ blockSize }} />;
}

/** Whoever presses Tab goes there next. */
function isBesideFocus({ previousElementSibling: above, nextElementSibling: below }: Element) {
  return hasFocus(above) || hasFocus(below);
}
