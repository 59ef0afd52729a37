// SPDX-License-Identifier: Apache-2.0
// The staging service: brings the job's files from the root's host to every host.
#pragma once

#include "staging/component.hpp"
#include "staging/events.hpp"
#include "staging/messages.hpp"

namespace charmtree::staging {

struct StagingService {
  using Messages = wire::MessageList<StagedPiece, PieceRefused, PieceWanted>;
  using Events = TypeList<FilesFound, FileWritten, PieceRead>;
  using Actions = TypeList<FindFiles, WritePiece, ReadPiece, FilesStaged>;
  using Launcher = StagingComponent;
};

}  // namespace charmtree::staging
