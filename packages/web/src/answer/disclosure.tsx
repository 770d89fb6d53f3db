import { useId, type ReactNode } from "react";
import { Icon } from "../ui/icon.tsx";

interface DisclosureProps {
  className: string;
  open: boolean;
  onToggle: (open: boolean) => void;
  /** False if there is nothing to expand. Default true. */
  hasBody?: boolean | undefined;
  summary: ReactNode;
  /** Buttons next to the trigger. */
  actions?: ReactNode;
  /** Shown whether or not the disclosure is open. */
  alwaysVisible?: ReactNode;
  /** Makes the element a target of `goToCall`. */
  callId?: string | undefined;
  state?: string | undefined;
  children: ReactNode;
}

/** A line that expands. The children are mounted only while it is open. */
export function Disclosure(props: DisclosureProps) {
  const {
    className,
    open,
    onToggle,
    hasBody = true,
    summary,
    actions,
    alwaysVisible,
    children,
  } = props;
  const bodyId = useId();
  const isOpen = open && hasBody;
  return (
    <div
      className={`answer-disclosure ${className}`}
      data-open={isOpen || undefined}
      data-state={props.state}
      data-call={props.callId}
      tabIndex={props.callId === undefined ? undefined : -1}
    >
      <div className="answer-disclosure-header">
        {hasBody ? (
          <button
            type="button"
            className="answer-disclosure-trigger"
            aria-expanded={isOpen}
            aria-controls={isOpen ? bodyId : undefined}
            onClick={() => onToggle(!isOpen)}
          >
            <Icon name="chevron" small />
            {summary}
          </button>
        ) : (
          <div className="answer-disclosure-trigger">{summary}</div>
        )}
        {actions}
      </div>
      {alwaysVisible}
      {isOpen && (
        <div id={bodyId} className="answer-disclosure-body">
          {children}
        </div>
      )}
    </div>
  );
}
