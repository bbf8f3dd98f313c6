#include "common/net/security/peer_rates.h"

#include <algorithm>
#include <iterator>

namespace waggle {

double PeerRates::LeftAt(const Bucket& bucket, absl::Time now) const {
  return std::min(options_.burst, bucket.left + absl::ToDoubleSeconds(now - bucket.at) * options_.per_second);
}

bool PeerRates::Take(const std::string& peer) {
  const absl::Time now = clock_();
  MutexLock lock(&mutex_);
  if (buckets_.size() >= options_.max_peers && buckets_.find(peer) == buckets_.end()) {
    ForgetQuietPeers(now);
  }
  const auto [place, is_new] = buckets_.try_emplace(peer, Bucket{options_.burst, now});
  Bucket& bucket = place->second;
  bucket.left = LeftAt(bucket, now);
  bucket.at = now;
  if (bucket.left < 1) {
    return false;
  }
  bucket.left -= 1;
  return true;
}

void PeerRates::ForgetQuietPeers(absl::Time now) {
  for (auto bucket = buckets_.begin(); bucket != buckets_.end();) {
    bucket = LeftAt(bucket->second, now) >= options_.burst ? buckets_.erase(bucket) : std::next(bucket);
  }
  if (buckets_.size() >= options_.max_peers) {
    buckets_.clear();
  }
}

}  // namespace waggle
