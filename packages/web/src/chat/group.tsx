import { useEffect, useRef, useState } from "react";
import { guessedHeight, type Placed } from "./groups.ts";
import type { NearWatcher } from "./near-watcher.ts";
import { NodeView } from "./node-view.tsx";

interface GroupProps {
  group: readonly Placed[];
  watcher: NearWatcher;
  startsNear: boolean;
  isWanted: boolean;
  marked: string | undefined;
  bookmarks: readonly string[];
}

/** A few nodes, or as much room as they take where nobody can see them. */
export function Group({ group, watcher, startsNear, isWanted, marked, bookmarks }: GroupProps) {
  const element = useRef<HTMLDivElement>(null);
  const [isNear, setNear] = useState(startsNear);
  const [height, setHeight] = useState<number | undefined>(undefined);
  const isDrawn = isNear || isWanted;
  useEffect(() => {
    const watched = element.current;
    if (watched === null) return undefined;
    return watcher.watch(watched, watched.closest(".chat-scroller"), (near, measured) => {
      setNear(near);
      if (!near) setHeight(measured);
    });
  }, [watcher]);
  if (!isDrawn) {
    const blockSize = height ?? guessedHeight(group.map(({ node }) => node));
    return <div ref={element} className="chat-group" style={{ blockSize }} />;
  }
  return (
    <div ref={element} className="chat-group">
      {group.map(({ node, above, below, branches }) => (
        <NodeView
          key={node.node_id}
          node={node}
          above={above}
          below={below}
          branches={branches}
          isMarked={node.node_id === marked}
          isBookmarked={bookmarks.includes(node.node_id)}
        />
      ))}
    </div>
  );
}
