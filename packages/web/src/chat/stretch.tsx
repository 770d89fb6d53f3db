import type { ReactNode } from "react";
import { partsOf } from "../parts-of.ts";
import { useHouse } from "../parts/house.ts";
import { Room } from "../parts/room.tsx";
import { groupSize, guessedHeight, hasNode, type Placed } from "./groups.ts";
import { NodeView } from "./node-view.tsx";

interface StretchProps {
  stretch: readonly Placed[];
  /** The node that somebody wants to see. */
  wanted: string | undefined;
  marked: string | undefined;
  /** Nothing comes after it. */
  isLast: boolean;
  bookmarks: readonly string[];
}

/** Many nodes in groups, each of which is drawn when it is near. Far away all are one empty box. */
export function Stretch({ stretch, wanted, marked, isLast, bookmarks }: StretchProps) {
  return (
    <Nodes placed={stretch} isWanted={hasNode(stretch, wanted)} isLast={isLast}>
      {() =>
        partsOf(stretch, groupSize).map(({ from, part }) => (
          <Nodes
            key={from}
            placed={part}
            isWanted={hasNode(part, wanted)}
            isLast={isLast && from + groupSize >= stretch.length}
          >
            {() =>
              part.map(({ node, above, below, branches, isOutdated }) => (
                <NodeView
                  key={node.node_id}
                  node={node}
                  above={above}
                  below={below}
                  branches={branches}
                  isOutdated={isOutdated}
                  isMarked={node.node_id === marked}
                  isBookmarked={bookmarks.includes(node.node_id)}
                />
              ))
            }
          </Nodes>
        ))
      }
    </Nodes>
  );
}

interface NodesProps {
  placed: readonly Placed[];
  isWanted: boolean;
  isLast: boolean;
  children: () => ReactNode;
}

/** What is added at the end of a list that is open is drawn at once. */
function Nodes({ placed, isWanted, isLast, children }: NodesProps) {
  const house = useHouse();
  return (
    <Room
      name={`${placed.length} from ${placed[0]?.node.node_id}`}
      className="chat-room"
      guess={() => guessedHeight(placed.map(({ node }) => node))}
      isWanted={isWanted}
      isDrawnAtOnce={isLast && house.isOpen()}
    >
      {children}
    </Room>
  );
}
