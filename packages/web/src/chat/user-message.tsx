import { useId } from "react";
import { chosenVersion, type UserNode } from "@deltawire/tasks/chats";
import { useCell } from "../hooks/use-cell.ts";
import { usePage } from "../hooks/use-page.ts";
import { IconButton } from "../parts/button.tsx";
import { Menu } from "../parts/menu.tsx";
import { useWords } from "../words/use-words.ts";
import { Attachments } from "./attachments.tsx";
import { Contexts } from "./contexts.tsx";
import { copyText } from "./copy-text.ts";
import { MessageEditor } from "./message-editor.tsx";
import { Marks } from "./marks.tsx";
import { useNodeMenu } from "./use-node-menu.ts";
import type { NodeProps } from "./node-view.tsx";
import { PlainText } from "./plain-text.tsx";
import { Switchers } from "./switcher.tsx";
import { elementId, useThread } from "./thread.ts";
import { When } from "./when.tsx";
import { chatWords } from "./words.ts";

export function UserMessage({
  node,
  below,
  branches,
  isOutdated,
  isMarked,
  isBookmarked,
}: NodeProps<UserNode>) {
  const page = usePage();
  const thread = useThread();
  const words = useWords(chatWords);
  const headingId = useId();
  const version = chosenVersion(node);
  const isEditing = useCell(thread.editing) === node.node_id;
  const copy =
    version.text === "" ? undefined : () => void copyText(version.text, page.toasts, words);
  const edit = () => thread.edit(node.node_id);
  const items = useNodeMenu({ node, below, isBookmarked, copy, edit });
  return (
    <article
      id={elementId(node.node_id)}
      className="chat-node chat-user"
      data-marked={isMarked || undefined}
      data-hidden={node.hidden || undefined}
      data-outdated={isOutdated || undefined}
      data-node={node.node_id}
      aria-labelledby={headingId}
      tabIndex={-1}
    >
      <h2 className="for-readers" id={headingId}>
        {words.you}
      </h2>
      <Contexts contexts={version.contexts} />
      <Attachments attachments={version.attachments} />
      {isEditing ? (
        <MessageEditor node={node} version={version} />
      ) : (
        version.text !== "" && <PlainText className="chat-bubble" text={version.text} />
      )}
      <div className="chat-foot">
        <Marks node={node} isBookmarked={isBookmarked} isOutdated={isOutdated} />
        <Switchers node={node} branches={branches} />
        <When iso={version.created_at} />
        {!isEditing && (
          <span className="chat-actions">
            {copy !== undefined && (
              <IconButton icon="copy" small label={words.copy} onClick={copy} />
            )}
            <IconButton icon="edit" small label={words.edit} onClick={edit} />
          </span>
        )}
        {!isEditing && <Menu label={words.moreOfMessage} small items={items} />}
      </div>
    </article>
  );
}
