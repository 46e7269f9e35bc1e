#include "store/network.h"

#include <sys/vfs.h>

#include <array>
#include <cstdint>

namespace hgemm {

std::string_view network_name(long file_system_type) {
  // Sources: linux/magic.h; for Lustre, BeeGFS, GPFS and CephFS their own source code.
  struct Network {
    std::uint32_t type;
    std::string_view name;
  };
  constexpr std::array kNetworks = {
      Network{0x6969, "NFS"},
      Network{0x0bd00bd0, "Lustre"},
      Network{0x19830326, "BeeGFS"},
      Network{0x47504653, "GPFS"},
      Network{0x00c36400, "CephFS"},
      Network{0xff534d42, "CIFS"},
      Network{0xfe534d42, "SMB"},
      Network{0x517b, "SMB"},
      Network{0x5346414f, "AFS"},
      Network{0x7461636f, "OCFS2"},
      Network{0x01161970, "GFS2"},
      Network{0x65735546, "FUSE"},  // sshfs, s3fs and others: the storage behind it is unknown
  };
  for (const auto& [type, name] : kNetworks) {
    if (type == static_cast<std::uint32_t>(file_system_type)) return name;
  }
  return {};
}

std::string network_of(const std::string& folder) {
  struct statfs found {};
  if (statfs(folder.c_str(), &found) != 0) return {};
  return std::string(network_name(static_cast<long>(found.f_type)));
}

}  // namespace hgemm
