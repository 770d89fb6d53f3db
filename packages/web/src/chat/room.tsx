import { useEffect, useRef, useState, type ReactNode } from "react";
import { guessedHeight, type Placed } from "./groups.ts";
import type { House } from "./house.ts";

interface RoomProps {
  house: House;
  placed: readonly Placed[];
  /** Somebody wants to see something of it, wherever it is. */
  isWanted: boolean;
  /** Nothing comes after it: what is added there is drawn at once. */
  isLast: boolean;
  children: () => ReactNode;
}

/** What it holds, or as much room as that takes where nobody can see it. */
export function Room({ house, placed, isWanted, isLast, children }: RoomProps) {
  const element = useRef<HTMLDivElement>(null);
  const [isNear, setNear] = useState(isLast && house.isOpen());
  const name = `${placed.length} from ${placed[0]?.node.node_id}`;
  useEffect(() => {
    const { current } = element;
    if (current === null) return undefined;
    return house.watcher.watch(current, current.closest(".chat-scroller"), (near, height) => {
      if (!near) house.heights.set(name, height);
      setNear(near);
    });
  }, [house, name]);
  if (isNear || isWanted)
    return (
      <div ref={element} className="chat-room">
        {children()}
      </div>
    );
  const blockSize = house.heights.get(name) ?? guessedHeight(placed.map(({ node }) => node));
  return <div ref={element} className="chat-room" style={{ blockSize }} />;
}
