import { partsOf } from "../parts-of.ts";
import { groupSize, hasNode, type Placed } from "./groups.ts";
import { NodeView } from "./node-view.tsx";
import type { House } from "./house.ts";
import { Room } from "./room.tsx";

interface StretchProps {
  house: House;
  stretch: readonly Placed[];
  /** The node that somebody wants to see. */
  wanted: string | undefined;
  marked: string | undefined;
  /** Nothing comes after it. */
  isLast: boolean;
  bookmarks: readonly string[];
}

/** Many nodes in groups, each of which is drawn when it is near. Far away all are one empty box. */
export function Stretch({ house, stretch, wanted, marked, isLast, bookmarks }: StretchProps) {
  return (
    <Room house={house} placed={stretch} isWanted={hasNode(stretch, wanted)} isLast={isLast}>
      {() =>
        partsOf(stretch, groupSize).map(({ from, part }) => (
          <Room
            key={from}
            house={house}
            placed={part}
            isWanted={hasNode(part, wanted)}
            isLast={isLast && from + groupSize >= stretch.length}
          >
            {() =>
              part.map(({ node, above, below, branches }) => (
                <NodeView
                  key={node.node_id}
                  node={node}
                  above={above}
                  below={below}
                  branches={branches}
                  isMarked={node.node_id === marked}
                  isBookmarked={bookmarks.includes(node.node_id)}
                />
              ))
            }
          </Room>
        ))
      }
    </Room>
  );
}
